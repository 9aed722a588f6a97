#pragma once

#include <span>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "sim/metrics.h"

namespace sluice {

// Numbers of simulations for people to read.

std::string InTime(double seconds);
std::string InPercent(double part);
// A mean of counts, with a decimal unless it is whole.
std::string InCount(double value);
std::string InNumber(double value);

// "2 nodes: 8 A100, 64 cores"
std::string DescribeNodes(const std::vector<Node>& nodes);

// Numbers of simulations for programs.

// "null" for NaN.
std::string NumberOrNull(double value);
// An object with the mean, the half width of its interval, and all values.
std::string EstimateJson(const Estimate& estimate, std::span<const double> values);

}  // namespace sluice

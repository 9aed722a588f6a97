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
// A mean of counts.
std::string InCount(double value);
std::string InNumber(double value);

// "2 nodes: 8 A100, 64 cores"
std::string DescribeNodes(const std::vector<Node>& nodes);

// Numbers of simulations for programs.

// null for NaN.
std::string NumberOrNull(double value);
// The mean, its interval, and each of the values.
std::string EstimateJson(const Estimate& estimate, std::span<const double> values);

}  // namespace sluice

#pragma once

#include <string>

#include "base/result.h"
#include "wire/message.h"

namespace sluice::client {

// The settings with which a client is opened.
struct Settings {
  std::string socket_path;
  std::string worker;  // the name of this process in its hello
  std::string secret;  // empty: there is none
  wire::Assign first;  // the launch that this process was started for
  int capacity = 1;    // how many launches the process takes at the same time
  // Whether the launches may differ in the parameters that the study file's `shape` names.
  bool several_shapes = false;
  std::string client_name = "c++ 0.1.0";
};

// Returns the settings of a program that Sluice has started, from its environment
// (docs/protocol.md). Fails with failed_precondition if the program was started in another way.
Result<Settings> SettingsFromEnvironment(int capacity, bool several_shapes);

}  // namespace sluice::client

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/inspect/training.h"
#include "engine/study.h"

namespace sluice {

// A study file that was read and has no mistakes.
struct StudyFile {
  StudySpec spec;
  std::string path;                         // of the file, as the user gave it
  std::string source;                       // the text of the file
  std::string folder;                       // of the file, absolute; the program runs there
  std::string place;                        // the line that names the program: "study.yaml:3"
  std::optional<TrainingSummary> training;  // of a study with `train`
  std::vector<std::string> remarks;         // for the user, about the space and the network
};

// Reads the file of a study that is new. Fails with not_found if there is no file, and with
// invalid_argument if the file has mistakes. A study without a name gets the name of its file.
Result<StudyFile> ReadStudyFile(const std::string& path);

// "FILE:LINE" of the key or parameter whose name is at the beginning of `about`; "FILE" if the file
// has no such key or parameter.
std::string PlaceOf(const std::string& source, const std::string& file, std::string_view about);

// A message that begins with a key, after the key's place: "study.yaml:3: program: expected ...".
std::string Placed(const StudyFile& file, const std::string& said);

// Whether an argument is the path of a study file; otherwise it is the name of a study.
bool IsStudyFile(std::string_view argument);

// Fails with invalid_argument if neither the file nor the command line says how many trials to run.
// Only the file of a sweep may leave the number out.
Status CheckHasEnd(const StudySpec& spec, bool trials_given);

// The path of a study's program, found as a launch would find it: a bare word is searched on PATH,
// and a path is relative to the study's folder. Fails with invalid_argument if there is no such
// program, if it cannot be executed, or if the script that it runs does not exist. Returns nothing
// if the program is known only when a trial starts.
Result<std::optional<std::string>> FindProgram(const StudySpec& spec, const std::string& folder);

// Whether the script that the program runs contains the word "sluice" or "SLUICE_": such a script
// imports the package, or reads the environment variables that a launch sets. Returns false if the
// command does not show which script the program runs.
bool ScriptNamesSluice(const StudySpec& spec, const std::string& folder);

}  // namespace sluice

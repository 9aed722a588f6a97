#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/study.h"

namespace sluice {

// A study file that was read and found good.
struct StudyFile {
  StudySpec spec;
  std::string path;                  // as it was given
  std::string source;                // its text
  std::string folder;                // of the file, absolute: its program runs there
  std::string place;                 // where it says what to run: "study.yaml:3"
  std::vector<std::string> remarks;  // what a reader should know of its space and its network
};

// Fails with invalid_argument, saying what is wrong with the file as a new study, and with
// not_found if there is no file. A study without a name is called like its file.
Result<StudyFile> ReadStudyFile(const std::string& path);

// "FILE:LINE" of the key or parameter that `about` begins with, or the file alone.
std::string PlaceOf(const std::string& source, const std::string& file, std::string_view about);

// A message that begins with a key, with the key's place before it.
std::string Placed(const StudyFile& file, const std::string& said);

// Whether an argument means a file, and not a study by its name.
bool IsStudyFile(std::string_view argument);

// Fails if neither the file nor the command line says how many trials there are to be. A sweep may
// leave that open.
Status CheckHasEnd(const StudySpec& spec, bool trials_given);

// Finds the program of a study as a launch would: from the study's folder, on PATH if it is a bare
// word. Fails with invalid_argument if there is no such program, if it cannot be run, or if the
// script that it is to run is not there. Returns nothing for a program that is only known when a
// trial starts.
Result<std::optional<std::string>> FindProgram(const StudySpec& spec, const std::string& folder);

// Whether the script that the program runs, if that can be told, mentions sluice: it imports the
// package, or reads the environment variables that a launch sets.
bool ScriptNamesSluice(const StudySpec& spec, const std::string& folder);

}  // namespace sluice

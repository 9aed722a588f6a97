#include "unpack/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/json_writer.h"
#include "data/formats/idx.h"
#include "data/formats/npy.h"
#include "data/formats/rows.h"
#include "data/sets/data_set.h"
#include "data/sets/folder_layout.h"
#include "unpack/image_sheets.h"
#include "unpack/new_folder.h"
#include "unpack/packed_files.h"
#include "unpack/sources.h"

namespace sluice::unpack {
namespace {

// Messages about files in the temporary folder speak of the folder it will be.
std::unexpected<Error> InOutput(Error error, const std::string& temporary,
                                const std::string& output) {
  for (std::size_t at = error.message.find(temporary); at != std::string::npos;
       at = error.message.find(temporary, at + output.size()))
    error.message.replace(at, temporary.size(), output);
  return std::unexpected(std::move(error));
}

Status UnpackAll(const std::vector<Source>& sources, Output& output) {
  for (const Source& source : sources) {
    switch (source.kind) {
      case SourceKind::kPlain: SLUICE_TRY(CopyPlain(source, output)); break;
      case SourceKind::kGzip: SLUICE_TRY(UnpackGzip(source, output)); break;
      case SourceKind::kNpz: SLUICE_TRY(UnpackNpz(source, output)); break;
      case SourceKind::kSheet:
      case SourceKind::kLabels: break;
    }
  }
  return UnpackSheets(sources, output);
}

// Each file by itself: a file that is damaged is never imported.
Status CheckFile(const std::string& path) {
  SLUICE_ASSIGN(auto source, data::OpenShared(path));
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(source->size(), 8)), '\0');
  SLUICE_TRY(source->Read(0, head));
  if (data::LooksLikeNpy(head)) {
    SLUICE_TRY(data::ReadNpy(std::move(source), path));
  } else if (data::LooksLikeIdx(head)) {
    SLUICE_TRY(data::ReadIdx(std::move(source), path));
  } else if (head.empty()) {
    return InvalidArgument(fmt::format("{}: expected data, found an empty file", path));
  } else if (path.ends_with(".npy")) {
    return InvalidArgument(fmt::format("{}: expected an .npy file, found something else", path));
  }
  return {};
}

// All files together, as far as their names tell what they are.
Status CheckSet(const std::string& folder, Imported& imported) {
  std::vector<std::string> names;
  for (const ImportedFile& file : imported.files) names.push_back(file.name);
  const auto layout = data::LayoutOfNames(names, data::DataKind::kGuess);
  if (!layout) {
    imported.note = layout.error().message;
    return {};
  }
  if (layout->kind == data::DataKind::kText || layout->kind == data::DataKind::kTokens) {
    imported.note = layout->kind == data::DataKind::kText
                        ? "a study says how long an example of the text is (window)"
                        : "a study says the vocabulary of the tokens, their type, and how long an "
                          "example is (window)";
    return {};
  }
  SLUICE_ASSIGN(const data::DataSet set, data::OpenDataSet({.path = folder}));
  const auto count = [](const auto& part) { return part == nullptr ? 0 : part->count(); };
  imported.found = {.kind = std::string(data::Name(set.kind)),
                    .input = data::Text(set.train->input()),
                    .target = data::Text(set.train->target()),
                    .classes = set.train->classes(),
                    .train = count(set.train),
                    .validation = count(set.validation),
                    .test = count(set.test)};
  return {};
}

Result<std::string> RecordOf(const Imported& imported, const std::string& folder) {
  std::vector<std::uint64_t> hashes;
  for (const ImportedFile& file : imported.files) {
    SLUICE_ASSIGN(const std::uint64_t hash, data::HashFile(folder + "/" + file.name));
    hashes.push_back(hash);
  }
  std::size_t at = 0;
  JsonWriter record;
  record.Add("version", 1)
      .AddJson("files", JsonList(imported.files, [&](std::string& json, const ImportedFile& file) {
                 JsonWriter each;
                 each.Add("name", file.name).Add("bytes", file.bytes).Add("from", file.from);
                 json += each.Add("hash", ToHex(hashes[at++])).Take();
               }));
  return record.Take() + "\n";
}

}  // namespace

Result<Imported> Import(const ImportOptions& options, const ImportProgress& progress) {
  SLUICE_ASSIGN(const std::vector<Source> sources, FindSources(options.sources));
  SLUICE_ASSIGN(NewFolder folder, NewFolder::Create(options.output, options.replace));
  const std::string temporary = folder.temporary();
  Output output(temporary, options.most_bytes, progress);
  const auto make = [&]() -> Result<Imported> {
    SLUICE_TRY(UnpackAll(sources, output));
    Imported imported;
    imported.files = output.files();
    for (const ImportedFile& file : imported.files)
      SLUICE_TRY(CheckFile(temporary + "/" + file.name));
    SLUICE_TRY(CheckSet(temporary, imported));
    return imported;
  };
  auto imported = make();
  if (!imported) return InOutput(std::move(imported).error(), temporary, options.output);
  SLUICE_ASSIGN(const std::string record, RecordOf(*imported, temporary));
  SLUICE_TRY(folder.Commit(record));
  return imported;
}

}  // namespace sluice::unpack

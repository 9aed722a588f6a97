#include "data/sets/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>

#include "base/digest.h"
#include "base/files/byte_source.h"
#include "base/random.h"
#include "data/batches/batch_order.h"
#include "data/batches/batch_reader.h"
#include "data/formats/cifar.h"
#include "data/formats/idx.h"
#include "data/formats/npy.h"
#include "data/formats/rows.h"
#include "data/sets/folder_layout.h"
#include "data/sets/row_examples.h"
#include "data/sets/token_examples.h"

namespace sluice::data {
namespace {

constexpr std::uint64_t kHashedAtOnce = std::uint64_t{1} << 20;
constexpr std::int64_t kBytesVocabulary = 256;

bool IsStream(DataKind kind) { return kind == DataKind::kTokens || kind == DataKind::kText; }

// An image without channels has one.
Rows WithChannel(Rows rows) {
  if (rows.type.shape.size() == 2) rows.type.shape.insert(rows.type.shape.begin(), 1);
  return rows;
}

Result<RowPair> OpenPair(DataKind kind, const std::string& inputs, const std::string& targets) {
  SLUICE_ASSIGN(auto input_source, OpenShared(inputs));
  SLUICE_ASSIGN(auto target_source, OpenShared(targets));
  const auto read = kind == DataKind::kIdx ? ReadIdx : ReadNpy;
  SLUICE_ASSIGN(Rows input_rows, read(std::move(input_source), inputs));
  SLUICE_ASSIGN(Rows target_rows, read(std::move(target_source), targets));
  if (kind == DataKind::kIdx) {
    if (!target_rows.type.shape.empty()) {
      return InvalidArgument(fmt::format("{}: expected a list of labels, found rows of {}", targets,
                                         Text(target_rows.type)));
    }
    input_rows = WithChannel(std::move(input_rows));
  }
  return RowPair{.inputs = std::move(input_rows), .targets = std::move(target_rows)};
}

Result<std::shared_ptr<const Examples>> OpenStreams(DataKind kind, const DataFiles& files,
                                                    const DataSpec& spec) {
  std::vector<TokenStream> streams;
  for (const std::string& path : files.inputs) {
    SLUICE_ASSIGN(auto source, OpenShared(path));
    streams.push_back({.source = std::move(source), .path = path});
  }
  TokenOptions options{
      .dtype = spec.token_type, .vocabulary = spec.vocabulary, .window = spec.window};
  if (kind == DataKind::kText) {
    options.dtype = DType::kUint8;
    options.vocabulary = kBytesVocabulary;
  }
  return MakeTokenExamples(std::move(streams), options);
}

Result<std::shared_ptr<const Examples>> OpenPart(DataKind kind, const DataFiles& files,
                                                 const DataSpec& spec,
                                                 std::optional<std::int64_t> classes) {
  if (IsStream(kind)) return OpenStreams(kind, files, spec);
  std::vector<RowPair> pairs;
  for (std::size_t i = 0; i < files.inputs.size(); ++i) {
    if (kind == DataKind::kCifar10) {
      SLUICE_ASSIGN(auto source, OpenShared(files.inputs[i]));
      SLUICE_ASSIGN(CifarRows cifar, ReadCifar(std::move(source), files.inputs[i]));
      pairs.push_back({.inputs = std::move(cifar.images), .targets = std::move(cifar.labels)});
    } else {
      SLUICE_ASSIGN(RowPair pair, OpenPair(kind, files.inputs[i], files.targets[i]));
      pairs.push_back(std::move(pair));
    }
  }
  if (kind == DataKind::kCifar10) classes = kCifarClasses;
  return MakeRowExamples(std::move(pairs), classes);
}

Result<DataKind> KindOfFile(const std::string& path) {
  SLUICE_ASSIGN(const auto source, OpenShared(path));
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(source->size(), 8)), '\0');
  SLUICE_TRY(source->Read(0, head));
  if (LooksLikeNpy(head)) return DataKind::kNpy;
  if (LooksLikeIdx(head)) return DataKind::kIdx;
  const DataKind kind = KindOfName(std::filesystem::path(path).filename().string());
  if (kind != DataKind::kGuess) return kind;
  return InvalidArgument(fmt::format(
      "{}: it does not tell what it is: say the kind (idx, cifar10, npy, tokens or text)", path));
}

bool IsNamed(const DataFiles& files) { return files != DataFiles{}; }

// What a folder is not asked for: the parts that are named, and their files, wherever the words in
// their names would put them.
NamedApart ApartFrom(const std::string& folder, const DataSpec& spec) {
  NamedApart apart{.train = !spec.train.inputs.empty(),
                   .validation = IsNamed(spec.validation),
                   .test = IsNamed(spec.test)};
  for (const DataFiles* part : {&spec.train, &spec.validation, &spec.test}) {
    for (const std::vector<std::string>* files : {&part->inputs, &part->targets}) {
      for (const std::string& path : *files) {
        const std::filesystem::path file(path);
        const auto its_folder = file.has_parent_path() ? file.parent_path() : ".";
        std::error_code ignored;
        if (std::filesystem::equivalent(its_folder, folder, ignored))
          apart.files.insert(file.filename().string());
      }
    }
  }
  return apart;
}

// What `path` gives of the parts, and their kind.
Result<FolderLayout> FilesOfPath(const DataSpec& spec) {
  FolderLayout layout;
  layout.kind = spec.kind;
  if (layout.kind == DataKind::kGuess && !spec.train.inputs.empty()) {
    SLUICE_ASSIGN(layout.kind, KindOfFile(spec.train.inputs.front()));
  }
  if (spec.path.empty()) return layout;
  std::error_code ignored;
  if (std::filesystem::is_directory(spec.path, ignored)) {
    const NamedApart apart = ApartFrom(spec.path, spec);
    if (apart.train && apart.validation && apart.test) return layout;
    return LayoutOfFolder(spec.path, layout.kind, apart);
  }
  if (IsNamed(spec.train)) {
    return InvalidArgument(fmt::format(
        "path: expected a folder beside 'train', for the parts that are not named, found {}: {}",
        std::filesystem::exists(spec.path, ignored) ? "a file" : "no such folder", spec.path));
  }
  layout.train.inputs = {spec.path};
  return layout;
}

// The files of all parts, and their kind.
Result<FolderLayout> FindFiles(const DataSpec& spec) {
  SLUICE_ASSIGN(FolderLayout layout, FilesOfPath(spec));
  if (IsNamed(spec.train)) layout.train = spec.train;
  if (IsNamed(spec.validation)) layout.validation = spec.validation;
  if (IsNamed(spec.test)) layout.test = spec.test;
  if (layout.train.inputs.empty())
    return InvalidArgument("data: expected a folder or files of training examples, found none");
  if (layout.kind == DataKind::kGuess) {
    SLUICE_ASSIGN(layout.kind, KindOfFile(layout.train.inputs.front()));
  }
  const bool apart = layout.kind == DataKind::kIdx || layout.kind == DataKind::kNpy;
  for (const DataFiles* part : {&layout.train, &layout.validation, &layout.test}) {
    const std::size_t wanted = apart ? part->inputs.size() : 0;
    if (part->targets.size() != wanted) {
      return InvalidArgument(fmt::format(
          "data: {}: expected {} of targets for {} of inputs of the kind '{}', found {}",
          part->inputs.empty() ? part->targets.front() : part->inputs.front(),
          fmt::format("{} file{}", wanted, wanted == 1 ? "" : "s"),
          fmt::format("{} file{}", part->inputs.size(), part->inputs.size() == 1 ? "" : "s"),
          Name(layout.kind), part->targets.size()));
    }
  }
  return layout;
}

Status CheckSpec(const DataSpec& spec, DataKind kind) {
  const auto wrong = [](std::string_view field, const std::string& message) {
    return InvalidArgument(fmt::format("{}: {}", field, message));
  };
  for (const auto& [name, fraction] :
       {std::pair("validation", spec.validation_fraction), std::pair("test", spec.test_fraction)}) {
    if (!(fraction >= 0 && fraction < 1))
      return wrong(name, fmt::format("expected a fraction from 0 to below 1, found {}", fraction));
  }
  if (spec.validation_fraction + spec.test_fraction >= 1)
    return wrong("validation", "expected fractions that leave training examples, found none left");
  if (spec.classes && (*spec.classes < 1 || *spec.classes > kMostClasses))
    return wrong("classes",
                 fmt::format("expected 1 to {} classes, found {}", kMostClasses, *spec.classes));
  if (!IsStream(kind)) return {};
  if (spec.window < 1 || spec.window > kMostWindow) {
    return wrong("window", fmt::format("expected the number of tokens of an example, from 1 to {}, "
                                       "found {}",
                                       kMostWindow, spec.window));
  }
  if (spec.normalise != NormaliseBy::kNothing || !spec.augmentation.IsNone())
    return wrong("normalise, crop and flip", "expected none for tokens and texts, found some");
  if (kind == DataKind::kText) return {};
  if (spec.vocabulary < 1 || spec.vocabulary > kMostClasses) {
    return wrong("vocabulary", fmt::format("expected the number of tokens there are, from 1 to {}, "
                                           "found {}",
                                           kMostClasses, spec.vocabulary));
  }
  if (IsFloating(spec.token_type) || spec.token_type == DType::kBool)
    return wrong("token_type",
                 fmt::format("expected uint16 or another type of whole numbers, found "
                             "{}",
                             Name(spec.token_type)));
  return {};
}

Status CheckSame(const Examples& part, const DataFiles& files, const Examples& train) {
  if (part.input() == train.input() && part.target() == train.target()) return {};
  return InvalidArgument(fmt::format(
      "{}: expected {} with {}, as in training, found {} with {}", files.inputs.front(),
      Text(train.input()), Text(train.target()), Text(part.input()), Text(part.target())));
}

std::vector<std::int64_t> SortedPiece(std::vector<std::int64_t>& from, std::int64_t count) {
  std::vector<std::int64_t> piece(from.end() - count, from.end());
  from.resize(from.size() - piece.size());
  std::ranges::sort(piece);
  return piece;
}

// Takes the parts that have no files out of the training examples.
Status SplitByFractions(const DataSpec& spec, DataSet& set) {
  const double validation = set.validation == nullptr ? spec.validation_fraction : 0;
  const double test = set.test == nullptr ? spec.test_fraction : 0;
  if (validation == 0 && test == 0) return {};
  const std::int64_t count = set.train->count();
  const auto share = [&](double fraction) {
    return static_cast<std::int64_t>(std::llround(fraction * static_cast<double>(count)));
  };
  const std::int64_t validation_count = share(validation);
  const std::int64_t test_count = share(test);
  if ((validation > 0 && validation_count == 0) || (test > 0 && test_count == 0) ||
      validation_count + test_count >= count) {
    return InvalidArgument(
        fmt::format("validation and test: expected fractions that leave every part an example, "
                    "found {} and {} of {} examples",
                    validation, test, count));
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (!IsStream(set.kind)) {
    Random random = Random(spec.split_seed).Fork("split");
    for (std::size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[static_cast<std::size_t>(random.Below(i + 1))]);
  }
  const std::shared_ptr<const Examples> all = set.train;
  if (test_count > 0) set.test = SubsetOf(all, SortedPiece(order, test_count));
  if (validation_count > 0) set.validation = SubsetOf(all, SortedPiece(order, validation_count));
  set.train = SubsetOf(all, SortedPiece(order, static_cast<std::int64_t>(order.size())));
  return {};
}

Result<Normalisation> FindNormalisation(const DataSpec& spec, const Examples& train) {
  if (train.input().dtype == DType::kInt64) {
    if (spec.normalise == NormaliseBy::kNothing) return Normalisation{};
    return InvalidArgument(fmt::format(
        "normalise: expected inputs that are images or floating-point numbers, found {}",
        Text(train.input())));
  }
  if (spec.normalise == NormaliseBy::kMeasure) return MeasureNormalisation(train);
  if (spec.normalise == NormaliseBy::kNothing) return Normalisation{};
  Normalisation given{.mean = spec.mean, .deviation = spec.deviation};
  SLUICE_TRY(CheckNormalisation(given, train.input()));
  return given;
}

Status RecordFiles(const FolderLayout& layout, DataSet& set) {
  for (const DataFiles* part : {&layout.train, &layout.validation, &layout.test}) {
    for (const std::vector<std::string>* files : {&part->inputs, &part->targets}) {
      for (const std::string& path : *files) {
        SLUICE_ASSIGN(const auto source, OpenShared(path));
        SLUICE_ASSIGN(const std::uint64_t hash, HashFile(path));
        set.files.push_back({.path = path, .bytes = source->size(), .hash = hash});
      }
    }
  }
  return {};
}

std::uint64_t HashOf(const DataSpec& spec, const DataSet& set, const FolderLayout& layout) {
  Digest digest;
  digest.Add(Name(set.kind));
  for (const DataFiles* part : {&layout.train, &layout.validation, &layout.test})
    digest.Add(part->inputs.size()).Add(part->targets.size());
  for (const FileRecord& file : set.files) digest.Add(file.bytes).Add(file.hash);
  digest.Add(spec.validation_fraction).Add(spec.test_fraction).Add(spec.split_seed);
  digest.Add(set.train->classes()).Add(spec.window).Add(Name(spec.token_type));
  for (const auto* values : {&set.normalisation.mean, &set.normalisation.deviation})
    for (const double value : *values) digest.Add(value);
  digest.Add(spec.augmentation.crop_padding).Add(spec.augmentation.flip);
  return digest.Value();
}

}  // namespace

Result<std::uint64_t> HashFile(const std::string& path) {
  SLUICE_ASSIGN(const auto source, OpenShared(path));
  Digest digest;
  std::string bytes;
  for (std::uint64_t at = 0; at < source->size(); at += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min(kHashedAtOnce, source->size() - at)));
    if (const auto read = source->Read(at, bytes); !read)
      return Fail(read.error().code, fmt::format("{}: {}", path, read.error().message));
    digest.Add(bytes);
  }
  return digest.Value();
}

Result<DataSet> OpenDataSet(const DataSpec& spec) {
  SLUICE_ASSIGN(const FolderLayout layout, FindFiles(spec));
  SLUICE_TRY(CheckSpec(spec, layout.kind));
  DataSet set;
  set.kind = layout.kind;
  SLUICE_ASSIGN(set.train, OpenPart(set.kind, layout.train, spec, spec.classes));
  const auto classes =
      set.train->classes() > 0 ? std::optional(set.train->classes()) : std::nullopt;
  for (const auto& [files, part] :
       {std::pair(&layout.validation, &set.validation), std::pair(&layout.test, &set.test)}) {
    if (files->inputs.empty()) continue;
    SLUICE_ASSIGN(*part, OpenPart(set.kind, *files, spec, classes));
    SLUICE_TRY(CheckSame(**part, *files, *set.train));
  }
  if (set.train->count() > BatchOrder::kMostExamples) {
    return InvalidArgument(fmt::format("data: expected at most {} training examples, found {}",
                                       BatchOrder::kMostExamples, set.train->count()));
  }
  SLUICE_TRY(SplitByFractions(spec, set));
  SLUICE_TRY(CheckAugmentation(spec.augmentation, set.train->input()));
  SLUICE_ASSIGN(set.normalisation, FindNormalisation(spec, *set.train));
  SLUICE_TRY(RecordFiles(layout, set));
  set.hash = HashOf(spec, set, layout);
  return set;
}

}  // namespace sluice::data

#include "unpack/import.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "data/sets/data_set.h"
#include "unpack/test_packed.h"

namespace sluice::unpack {
namespace {

using data::IdxBytes;
using data::NpyBytes;
using data::ReadFile;
using data::TestFolder;
using data::WriteFile;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

Result<Imported> ImportTo(const std::string& folder, std::vector<std::string> sources,
                          bool replace = false, std::uint64_t most_bytes = 1 << 20) {
  return Import({.sources = std::move(sources),
                 .output = folder,
                 .replace = replace,
                 .most_bytes = most_bytes},
                [](std::string_view, std::uint64_t) { return Status{}; });
}

std::string ImportRefusal(const std::string& folder, std::vector<std::string> sources,
                          std::uint64_t most_bytes = 1 << 20) {
  const std::filesystem::path around = std::filesystem::path(folder).parent_path();
  const auto count = [&] {
    using Files = std::filesystem::directory_iterator;
    return std::filesystem::exists(around) ? std::distance(Files(around), Files()) : 0;
  };
  const auto before = count();
  const auto imported = ImportTo(folder, std::move(sources), false, most_bytes);
  EXPECT_EQ(count(), imported ? before + 1 : before) << "nothing half-written is left";
  return imported ? "it was taken" : imported.error().message;
}

std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

// A folder of packed files like those of Fashion-MNIST.
std::string PackedMnist(const std::string& folder) {
  const std::string packed = folder + "packed/";
  std::filesystem::create_directory(packed);
  WriteFile(packed + "train-images-idx3-ubyte.gz", Deflated(IdxBytes({3, 1, 2}, "abcdef"), true));
  WriteFile(packed + "train-labels-idx1-ubyte.gz", Deflated(IdxBytes({3}, "\1\2\3"), true));
  WriteFile(packed + "t10k-images-idx3-ubyte.gz", Deflated(IdxBytes({1, 1, 2}, "gh"), true));
  WriteFile(packed + "t10k-labels-idx1-ubyte.gz", Deflated(IdxBytes({1}, "\2"), true));
  WriteFile(packed + "README.txt", "It is about clothes.");
  return packed;
}

TEST(ImportTest, UnpacksAFolderOfGzipFiles) {
  const std::string folder = TestFolder();
  const auto imported = ImportTo(folder + "out", {PackedMnist(folder)});
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_TRUE(imported->found) << imported->note;
  EXPECT_EQ(imported->found->kind, "idx");
  EXPECT_EQ(imported->found->input, "uint8 [1, 1, 2]");
  EXPECT_EQ(imported->found->train, 3);
  EXPECT_EQ(imported->found->test, 1);
  EXPECT_EQ(imported->found->classes, 4);
  EXPECT_EQ(ReadFile(folder + "out/train-images-idx3-ubyte"), IdxBytes({3, 1, 2}, "abcdef"));
  EXPECT_THAT(
      NamesIn(folder + "out"),
      UnorderedElementsAre("train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                           "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", "sluice-data.json"));
  EXPECT_THAT(ReadFile(folder + "out/sluice-data.json"),
              HasSubstr(R"("name":"train-labels-idx1-ubyte","bytes":11,"from":"train-labels-)"));
  EXPECT_TRUE(data::OpenDataSet({.path = folder + "out"}));
}

TEST(ImportTest, UnpacksArrays) {
  const std::string folder = TestFolder();
  model::TestZip zip;
  zip.members = {{.name = "x_train.npy", .bytes = NpyBytes("<f4", "(2, 1)", "aaaabbbb")},
                 {.name = "y_train.npy", .bytes = NpyBytes("|u1", "(2,)", std::string("\0\1", 2))}};
  WriteFile(folder + "stored.npz", zip.Bytes());
  const auto stored = ImportTo(folder + "out", {folder + "stored.npz"});
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->found->train, 2);
  EXPECT_EQ(ReadFile(folder + "out/x_train.npy"), zip.members[0].bytes);

  const std::string array = NpyBytes("<f4", "(2500, 1)", std::string(10'000, 'x'));
  const auto size = static_cast<std::uint32_t>(array.size());
  WriteFile(folder + "packed.npz", DeflatedZip("x.npy", array, size));
  const auto packed = ImportTo(folder + "packed", {folder + "packed.npz"});
  ASSERT_TRUE(packed) << packed.error().message;
  EXPECT_EQ(ReadFile(folder + "packed/x.npy"), array);
  EXPECT_FALSE(packed->found);
  EXPECT_THAT(packed->note, HasSubstr("inputs x.npy and targets none"));

  // A member that is larger or smaller than it says.
  WriteFile(folder + "large.npz", DeflatedZip("x.npy", array, size - 1));
  EXPECT_THAT(ImportRefusal(folder + "o", {folder + "large.npz"}), HasSubstr("found more"));
  WriteFile(folder + "small.npz", DeflatedZip("x.npy", array, size + 1));
  EXPECT_THAT(ImportRefusal(folder + "o", {folder + "small.npz"}), HasSubstr("'x.npy' is damaged"));
  std::string damaged = zip.Bytes();
  damaged[damaged.find("aaaabbbb")] = 'z';
  WriteFile(folder + "damaged.npz", damaged);
  EXPECT_THAT(ImportRefusal(folder + "o", {folder + "damaged.npz"}),
              HasSubstr("damaged.npz: 'x_train.npy' is damaged"));
  model::TestZip other;
  other.members = {{.name = "model/data.pkl", .bytes = "pickled"}};
  WriteFile(folder + "other.zip", other.Bytes());
  EXPECT_THAT(ImportRefusal(folder + "o", {folder + "other.zip"}),
              HasSubstr("found 'model/data.pkl' in it"));
  other.members = {{.name = "deep/x.npy", .bytes = NpyBytes("|u1", "(1,)", "a")}};
  WriteFile(folder + "deep.npz", other.Bytes());
  EXPECT_THAT(ImportRefusal(folder + "o", {folder + "deep.npz"}),
              HasSubstr("'deep/x.npy' cannot be the name of a file"));
}

// Two sheets of two images of 2x2 pixels.
std::string PictureSheets(const std::string& folder, const std::string& labels = "[3,0,1,2]") {
  const std::string sheets = folder + "sheets/";
  std::filesystem::create_directory(sheets);
  const auto sheet = [](char first) {
    TestPicture picture{.width = 4, .height = 2};
    for (int i = 0; i < 24; ++i) picture.pixels += static_cast<char>(first + i);
    return picture.Bytes();
  };
  WriteFile(sheets + "data_batch_10.png", sheet('a'));
  WriteFile(sheets + "data_batch_2.png", sheet('A'));
  WriteFile(sheets + "train_lables.json", labels);
  WriteFile(sheets + "package.json", "{}");
  return sheets;
}

TEST(ImportTest, UnpacksSheetsOfPictures) {
  const std::string folder = TestFolder();
  const std::string sheets = PictureSheets(folder);
  const auto imported = ImportTo(folder + "out", {sheets});
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_TRUE(imported->found) << imported->note;
  EXPECT_EQ(imported->found->input, "uint8 [3, 2, 2]");
  EXPECT_EQ(imported->found->classes, 4);
  const auto set = data::OpenDataSet({.path = folder + "out"});
  ASSERT_TRUE(set) << set.error().message;
  std::string image(12, '\0');
  ASSERT_TRUE(set->train->ReadInput(0, image));
  EXPECT_EQ(image, "ADGJBEHKCFIL") << "channel by channel, the second sheet before the tenth";
  ASSERT_TRUE(set->train->ReadInput(3, image));
  EXPECT_EQ(image, "mpsvnqtworux");
  std::string label(8, '\0');
  ASSERT_TRUE(set->train->ReadTarget(0, label));
  EXPECT_EQ(label, std::string("\3\0\0\0\0\0\0\0", 8));
}

TEST(ImportTest, RefusesSheetsThatDoNotFit) {
  const auto refusal = [](const std::string& labels) {
    const std::string folder = TestFolder();
    return ImportRefusal(folder + "out", {PictureSheets(folder, labels)});
  };
  EXPECT_THAT(refusal("[3,0,1]"), HasSubstr("expected 4 labels, one for each row"));
  EXPECT_THAT(refusal("[3,0,1,-1]"), HasSubstr("found -1 at place 3"));
  EXPECT_THAT(refusal("[3,0,1,\"a\"]"), HasSubstr("found \"a\" at place 3"));
  EXPECT_THAT(refusal("{\"labels\":[1]}"), HasSubstr("found something else"));
  EXPECT_THAT(refusal("[1],\"x\":[2]"), HasSubstr("expected a JSON list of labels"));
  EXPECT_THAT(refusal("[]"), HasSubstr("found an empty one"));
  const std::string folder = TestFolder();
  const std::string sheets = PictureSheets(folder);
  const TestPicture gray = {.width = 4, .height = 1, .colour = 0, .pixels = "abcd"};
  WriteFile(sheets + "data_batch_3.png", gray.Bytes());
  EXPECT_THAT(ImportRefusal(folder + "out", {sheets}), HasSubstr("found 2x2 with 1"));
  std::filesystem::remove(sheets + "train_lables.json");
  EXPECT_THAT(ImportRefusal(folder + "out", {sheets}), HasSubstr("found 3 sheets and 0 lists"));
  const TestPicture odd = {.width = 3, .height = 1, .colour = 0, .pixels = "abc"};
  WriteFile(folder + "odd.png", odd.Bytes());
  WriteFile(folder + "labels.json", "[1]");
  EXPECT_THAT(ImportRefusal(folder + "out", {folder + "odd.png", folder + "labels.json"}),
              HasSubstr("a square image in each row"));
}

TEST(ImportTest, KeepsWhatIsThereUnlessItMayReplaceIt) {
  const std::string folder = TestFolder();
  const std::string packed = PackedMnist(folder);
  const std::string out = folder + "out/";
  ASSERT_TRUE(ImportTo(out, {packed}));
  EXPECT_THAT(ImportRefusal(folder + "out", {packed}), HasSubstr("or replace this one with"));
  const std::string arrays = WriteFile(folder + "x.npy", NpyBytes("|u1", "(1,)", "a"));
  ASSERT_TRUE(ImportTo(out, {arrays}, true));
  EXPECT_THAT(NamesIn(out), UnorderedElementsAre("x.npy", "sluice-data.json"));
  EXPECT_THAT(NamesIn(folder), UnorderedElementsAre("packed", "out", "x.npy"));

  WriteFile(out + "notes", "mine");
  const auto kept = ImportTo(out, {packed}, true);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(kept.error().message, HasSubstr("'notes' is not from the import"));
  EXPECT_EQ(ReadFile(out + "notes"), "mine");
  std::filesystem::remove(out + "notes");
  std::filesystem::remove(out + "sluice-data.json");
  const auto foreign = ImportTo(out, {packed}, true);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("found one without sluice-data.json"));
  EXPECT_TRUE(std::filesystem::exists(out + "x.npy"));
  const auto file = ImportTo(arrays, {packed}, true);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("x.npy: exists already: name another folder"));
}

TEST(ImportTest, NothingIsLeftOfAnImportThatFails) {
  const std::string folder = TestFolder();
  const std::string packed = PackedMnist(folder);
  EXPECT_THAT(ImportRefusal(folder + "out", {packed}, 20), HasSubstr("allow more with --max-gb"));
  EXPECT_THAT(ImportRefusal(folder + "none/out", {packed}), HasSubstr("in a folder that exists"));
  WriteFile(packed + "t10k-labels-idx1-ubyte.gz", Deflated(IdxBytes({1}, "\7"), true));
  EXPECT_THAT(ImportRefusal(folder + "out", {packed}),
              HasSubstr("out/t10k-labels-idx1-ubyte: expected labels from 0 to 3, found 7"));
  WriteFile(packed + "t10k-labels-idx1-ubyte.gz", "\x1f\x8b\x08 damaged");
  EXPECT_THAT(ImportRefusal(folder + "out", {packed}),
              HasSubstr("packed/t10k-labels-idx1-ubyte.gz: its packed bytes"));
  EXPECT_THAT(ImportRefusal(folder + "out", {folder + "missing.gz"}), HasSubstr("no such file"));
  std::filesystem::create_directory(folder + "empty");
  EXPECT_THAT(ImportRefusal(folder + "out", {folder + "empty"}), HasSubstr("found none"));
  WriteFile(folder + "cat.jpeg", "\xff\xd8");
  EXPECT_THAT(ImportRefusal(folder + "out", {folder + "cat.jpeg"}), HasSubstr("something else"));
  WriteFile(folder + "train.gz", Deflated(std::string(257, '\0') + "ustar and more", true));
  EXPECT_THAT(ImportRefusal(folder + "out", {folder + "train.gz"}),
              HasSubstr("unpack it with 'tar -xf'"));
  WriteFile(folder + "images", Deflated("x", true));
  EXPECT_THAT(ImportRefusal(folder + "out", {folder + "images"}), HasSubstr("ends with .gz"));
  WriteFile(folder + "a.txt.gz", Deflated("", true));
  EXPECT_THAT(ImportRefusal(folder + "out", {folder + "a.txt.gz"}), HasSubstr("an empty file"));
  WriteFile(folder + "x.npy.gz", Deflated("no array", true));
  EXPECT_THAT(ImportRefusal(folder + "out", {folder + "x.npy.gz"}), HasSubstr("an .npy file"));
  WriteFile(folder + "b.txt", "x");
  WriteFile(folder + "b.txt.gz", Deflated("y", true));
  EXPECT_THAT(ImportRefusal(folder + "out", {folder + "b.txt", folder + "b.txt.gz"}),
              HasSubstr("'b.txt' comes from b.txt too"));
}

TEST(ImportTest, EndsWhenItsCallerSaysSo) {
  const std::string folder = TestFolder();
  const auto imported =
      Import({.sources = {PackedMnist(folder)}, .output = folder + "out", .most_bytes = 1 << 20},
             [](std::string_view name, std::uint64_t bytes) -> Status {
               if (name != "train-images-idx3-ubyte") return {};
               EXPECT_EQ(bytes, 22U);
               return Unavailable("enough");
             });
  ASSERT_FALSE(imported);
  EXPECT_THAT(imported.error().message, HasSubstr("enough"));
  EXPECT_THAT(NamesIn(folder), UnorderedElementsAre("packed"));
}

TEST(ImportTest, TextsAndTokensAreCopiedWithANote) {
  const std::string folder = TestFolder();
  WriteFile(folder + "words.txt.gz", Deflated("to be or not to be", true));
  const auto text = ImportTo(folder + "text", {folder + "words.txt.gz"});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(ReadFile(folder + "text/words.txt"), "to be or not to be");
  EXPECT_THAT(text->note, HasSubstr("window"));
  WriteFile(folder + "train.bin", "abcd");
  const auto tokens = ImportTo(folder + "tokens", {folder + "train.bin"});
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_THAT(tokens->note, HasSubstr("vocabulary"));
}

}  // namespace
}  // namespace sluice::unpack

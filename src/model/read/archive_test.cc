#include "model/read/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "model/read/test_program.h"
#include "model/read/test_zip.h"

namespace sluice::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Floats(const std::vector<float>& numbers) {
  std::string bytes;
  for (const float number : numbers) AppendBytes(bytes, number);
  return bytes;
}

std::string FirstNumbers(int count) {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(static_cast<float>(i));
  return Floats(numbers);
}

// An archive of the program, with the twelve numbers of its one weight.
TestZip ZipOf(const TestProgram& made, const std::string& weight = FirstNumbers(12)) {
  return {.members = {{"net/data/weights/weight_0", weight},
                      {"net/data/weights/model_weights_config.json", made.weights.dump()},
                      {"net/data/constants/model_constants_config.json", made.constants.dump()},
                      {"net/models/model.json", made.program.dump()},
                      {"net/archive_format", "pt2"},
                      {"net/archive_version", "0\n"},
                      {"net/byteorder", "little"}}};
}

Result<Archive> OpenArchive(const TestZip& zip) {
  return Archive::Open(FromMemory(zip.Bytes()), "net.pt2");
}

TestMember* MemberOf(TestZip& zip, const std::string& name) {
  for (TestMember& member : zip.members)
    if (member.name == name) return &member;
  return nullptr;
}

void ExpectNotOpen(const Result<Archive>& opened, ErrorCode code, const std::string& message) {
  ASSERT_FALSE(opened) << message;
  EXPECT_EQ(opened.error().code, code) << opened.error().message;
  EXPECT_THAT(opened.error().message, HasSubstr(message));
  EXPECT_THAT(opened.error().message, testing::StartsWith("net.pt2: "));
}

std::vector<float> ReadFirst(const Archive& archive, std::size_t most = SIZE_MAX) {
  const auto bytes = archive.ReadTensor(archive.graph().parameters.at(0), most);
  EXPECT_TRUE(bytes) << bytes.error().message;
  std::vector<float> numbers(bytes ? bytes->size() / sizeof(float) : 0);
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes->data(), bytes->size());
  return numbers;
}

// The weight's entry in the list of weights. Tests change it.
Json& MetaOf(TestProgram& made) { return made.weights["config"]["fc.weight"]["tensor_meta"]; }

TEST(ArchiveTest, OpensWhateverItsFolderIsCalled) {
  for (const std::string folder : {"net", "archive", "my model"}) {
    TestZip zip = ZipOf(TestProgram::Minimal());
    for (TestMember& member : zip.members) member.name = folder + member.name.substr(3);
    const auto archive = OpenArchive(zip);
    ASSERT_TRUE(archive) << archive.error().message;
    EXPECT_EQ(archive->graph().nodes.size(), 1U);
    EXPECT_TRUE(archive->HasTensor(archive->graph().parameters[0]));
    EXPECT_EQ(ReadFirst(*archive)[11], 11.0F);
  }
}

TEST(ArchiveTest, OpensWhateverItsProgramIsCalled) {
  TestZip zip = ZipOf(TestProgram::Minimal());
  MemberOf(zip, "net/models/model.json")->name = "net/models/other.json";
  ExpectNotOpen(OpenArchive(zip), ErrorCode::kCorruption,
                "its list of weights 'net/data/weights/other_weights_config.json' is missing");
  MemberOf(zip, "net/data/weights/model_weights_config.json")->name =
      "net/data/weights/other_weights_config.json";
  EXPECT_TRUE(OpenArchive(zip));
}

TEST(ArchiveTest, SaysWhatIsMissing) {
  const auto without = [](const std::string& name) {
    TestZip zip = ZipOf(TestProgram::Minimal());
    std::erase_if(zip.members, [&](const TestMember& member) { return member.name == name; });
    return OpenArchive(zip);
  };
  EXPECT_TRUE(without("net/data/constants/model_constants_config.json"));
  ExpectNotOpen(without("net/archive_format"), ErrorCode::kInvalidArgument,
                "found another zip file: a checkpoint of torch.save holds no program");
  ExpectNotOpen(without("net/archive_version"), ErrorCode::kInvalidArgument,
                "expected version 0 of the archive, found '': export it with PyTorch 2.11 to 2.13");
  ExpectNotOpen(without("net/byteorder"), ErrorCode::kInvalidArgument, "lowest byte first");
  ExpectNotOpen(without("net/models/model.json"), ErrorCode::kInvalidArgument,
                "expected one program in 'net/models/', found 0");
  ExpectNotOpen(without("net/data/weights/weight_0"), ErrorCode::kCorruption,
                "'fc.weight': its member 'data/weights/weight_0' is missing");
}

TEST(ArchiveTest, RefusesOthers) {
  const auto with = [](const std::string& name, const std::string& bytes) {
    TestZip zip = ZipOf(TestProgram::Minimal());
    if (TestMember* member = MemberOf(zip, name)) {
      member->bytes = bytes;
    } else {
      zip.members.push_back({name, bytes});
    }
    return OpenArchive(zip);
  };
  ExpectNotOpen(with("net/archive_format", "pt3"), ErrorCode::kInvalidArgument,
                "expected an archive of torch.export.save");
  ExpectNotOpen(with("net/archive_version", "1"), ErrorCode::kInvalidArgument, "found '1'");
  ExpectNotOpen(with("net/byteorder", "big"), ErrorCode::kInvalidArgument, "found 'big'");
  ExpectNotOpen(with("net/byteorder", std::string(65, ' ')), ErrorCode::kInvalidArgument,
                "'net/byteorder': expected at most 64 bytes, found 65");
  ExpectNotOpen(with("other/archive_format", "pt2"), ErrorCode::kInvalidArgument,
                "expected one folder with a program, found several");
  ExpectNotOpen(with("net/models/second.json", "{}"), ErrorCode::kInvalidArgument,
                "expected one program in 'net/models/', found 2");
  ExpectNotOpen(with("net/models/model.json", "{}"), ErrorCode::kCorruption,
                "program: expected a member 'schema_version', found none");
  ExpectNotOpen(Archive::Open(FromMemory("no zip"), "net.pt2"), ErrorCode::kInvalidArgument,
                "expected a zip file");
  const auto none = Archive::Open("no/such/net.pt2");
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().message, "no/such/net.pt2: no such file");
}

TEST(ArchiveTest, SaysThatANoteIsDamaged) {
  std::string bytes = ZipOf(TestProgram::Minimal()).Bytes();
  bytes[bytes.find("padpt2") + 3] = 'P';
  ExpectNotOpen(Archive::Open(FromMemory(bytes), "net.pt2"), ErrorCode::kCorruption,
                "'net/archive_format' is damaged: its checksum differs");
}

TEST(ArchiveTest, EveryTensorLiesWithinItsMember) {
  const TestProgram made = TestProgram::Minimal();
  ExpectNotOpen(OpenArchive(ZipOf(made, FirstNumbers(11))), ErrorCode::kCorruption,
                "'fc.weight': expected a tensor of [3, 4], found only 11 elements in "
                "'data/weights/weight_0'");
  EXPECT_TRUE(OpenArchive(ZipOf(made, FirstNumbers(12) + "123"))) << "more is there than is needed";
  const auto changed = [&](const std::string& place, std::int64_t number) {
    TestProgram other = made;
    MetaOf(other)[Json::json_pointer(place)] = TestProgram::Number(number);
    return OpenArchive(ZipOf(other));
  };
  EXPECT_TRUE(changed("/storage_offset", 0));
  for (const std::int64_t large : {std::int64_t{1} << 40, std::int64_t{1} << 20, std::int64_t{5}}) {
    ExpectNotOpen(changed("/storage_offset", large), ErrorCode::kCorruption, "found only 12");
    ExpectNotOpen(changed("/strides/0", large), ErrorCode::kCorruption, "found only 12");
    ExpectNotOpen(changed("/strides/1", large), ErrorCode::kCorruption, "found only 12");
  }
}

TEST(ArchiveTest, ReadsTensorsInTheOrderOfTheirIndices) {
  TestProgram made = TestProgram::Minimal();
  MetaOf(made)["strides"] = Json::array({TestProgram::Number(1), TestProgram::Number(3)});
  const auto turned = OpenArchive(ZipOf(made));
  ASSERT_TRUE(turned) << turned.error().message;
  EXPECT_THAT(ReadFirst(*turned), ElementsAre(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11));

  MetaOf(made)["strides"] = Json::array({TestProgram::Number(6), TestProgram::Number(1)});
  MetaOf(made)["storage_offset"] = TestProgram::Number(2);
  const auto cut = OpenArchive(ZipOf(made, FirstNumbers(18)));
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_THAT(ReadFirst(*cut), ElementsAre(2, 3, 4, 5, 8, 9, 10, 11, 14, 15, 16, 17));

  MetaOf(made)["strides"] = Json::array({TestProgram::Number(0), TestProgram::Number(1)});
  const auto repeated = OpenArchive(ZipOf(made));
  ASSERT_TRUE(repeated) << repeated.error().message;
  EXPECT_THAT(ReadFirst(*repeated), ElementsAre(2, 3, 4, 5, 2, 3, 4, 5, 2, 3, 4, 5));
}

TEST(ArchiveTest, ReadsNoMoreThanIsAskedFor) {
  const auto archive = OpenArchive(ZipOf(TestProgram::Minimal()));
  ASSERT_TRUE(archive);
  EXPECT_EQ(ReadFirst(*archive, 12).size(), 12U);
  EXPECT_THAT(ReadFirst(*archive, 3), ElementsAre(0, 4, 8));
  EXPECT_THAT(ReadFirst(*archive, 0), IsEmpty());
}

TEST(ArchiveTest, OpensWithoutWeights) {
  TestProgram made = TestProgram::Minimal();
  made.AddParameter("other", "p_other", {3, 4}, "weight_0");
  const auto archive = OpenArchive(ZipOf(made, ""));
  ASSERT_TRUE(archive) << archive.error().message;
  for (const Parameter& parameter : archive->graph().parameters) {
    EXPECT_FALSE(archive->HasTensor(parameter));
    EXPECT_EQ(parameter.tied_to, std::nullopt) << "sharing an empty member is not tying";
    const auto read = archive->ReadTensor(parameter, 1);
    EXPECT_EQ(read.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(read.error().message, HasSubstr("was exported without its values"));
  }
}

TEST(ArchiveTest, AnEmptyTensorLiesAnywhere) {
  TestProgram made = TestProgram::Minimal();
  made.AddParameter("empty", "p_empty", {5}, "weight_0");
  made.tensors()["p_empty"]["sizes"] =
      Json::array({TestProgram::Number(50), TestProgram::Number(0)});
  Json& meta = made.weights["config"]["empty"]["tensor_meta"];
  meta["sizes"] = made.tensors()["p_empty"]["sizes"];
  meta["strides"] = Json::array({TestProgram::Number(1), TestProgram::Number(1)});
  const auto archive = OpenArchive(ZipOf(made));
  ASSERT_TRUE(archive) << archive.error().message;
  EXPECT_EQ(archive->ReadTensor(archive->graph().parameters[1], SIZE_MAX), "");
}

}  // namespace
}  // namespace sluice::model

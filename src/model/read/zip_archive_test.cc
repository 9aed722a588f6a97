#include "model/read/zip_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/read/test_zip.h"

namespace sluice::model {
namespace {

using testing::HasSubstr;

Result<ZipArchive> OpenZip(const std::string& bytes) { return ZipArchive::Open(FromMemory(bytes)); }

// Overwrites bytes at a place.
template <typename T>
std::string With(std::string bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  return bytes;
}

void ExpectBadFile(const std::string& bytes, ErrorCode code, const std::string& message) {
  const auto zip = OpenZip(bytes);
  ASSERT_FALSE(zip) << message;
  EXPECT_EQ(zip.error().code, code) << zip.error().message;
  EXPECT_THAT(zip.error().message, HasSubstr(message));
}

// Reads all members with their checksums.
Status ReadAll(const ZipArchive& zip) {
  for (const auto& [name, member] : zip.members()) SLUICE_TRY(zip.Read(name, 1 << 20));
  return {};
}

TestZip Two() { return {.members = {{.name = "m/a", .bytes = "first"}, {.name = "m/b/c"}}}; }

std::size_t EndOf(const std::string& bytes) { return bytes.rfind("PK\x05\x06"); }
std::size_t DirectoryOf(const std::string& bytes) { return bytes.find("PK\x01\x02"); }

TEST(ZipArchiveTest, ReadsMembers) {
  const auto zip = OpenZip(Two().Bytes());
  ASSERT_TRUE(zip) << zip.error().message;
  EXPECT_EQ(zip->members().size(), 2U);
  EXPECT_EQ(zip->Read("m/a", 5), "first");
  EXPECT_EQ(zip->Read("m/b/c", 5), "");
  EXPECT_EQ(zip->Find("m/b"), nullptr);
  EXPECT_EQ(zip->Read("m/b", 5).error().code, ErrorCode::kNotFound);
  const auto too_large = zip->Read("m/a", 4);
  EXPECT_EQ(too_large.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(too_large.error().message, "'m/a': expected at most 4 bytes, found 5");
}

TEST(ZipArchiveTest, ReadsAnEmptyOne) {
  const auto zip = OpenZip(TestZip{}.Bytes());
  ASSERT_TRUE(zip) << zip.error().message;
  EXPECT_TRUE(zip->members().empty());
}

TEST(ZipArchiveTest, ReadsPartsOfAMemberAndNothingBeyondIt) {
  auto zip = OpenZip(Two().Bytes());
  ASSERT_TRUE(zip);
  const auto source = zip->OpenMember(*zip->Find("m/a"));
  ASSERT_TRUE(source);
  const ZipArchive moved = *std::move(zip);
  EXPECT_EQ((*source)->size(), 5U);
  std::string part(3, ' ');
  EXPECT_TRUE((*source)->Read(2, part));
  EXPECT_EQ(part, "rst");
  EXPECT_EQ((*source)->Read(3, part).error().code, ErrorCode::kCorruption);
  EXPECT_EQ((*source)->Read(UINT64_MAX, part).error().code, ErrorCode::kCorruption);
}

TEST(ZipArchiveTest, ReadsWhatIsWrittenForLargeFiles) {
  TestZip two = Two();
  two.large = true;
  for (TestMember& member : two.members) member.large = true;
  const std::string bytes = two.Bytes();
  const auto zip = OpenZip(bytes);
  ASSERT_TRUE(zip) << zip.error().message;
  EXPECT_EQ(zip->Read("m/a", 5), "first");
  ExpectBadFile(With(bytes, bytes.find("PK\x06\x06"), 0), ErrorCode::kCorruption,
                "the end of its zip directory is damaged");
  // The locator says that the zip64 end record lies far outside of the file.
  ExpectBadFile(With(bytes, bytes.find("PK\x06\x07") + 8, UINT64_MAX), ErrorCode::kCorruption,
                "truncated");
  // The extra field that holds the sizes is marked as another kind.
  ExpectBadFile(With<std::uint16_t>(bytes, bytes.find(std::string("\x01\0\x18\0", 4)), 2),
                ErrorCode::kCorruption, "size is missing");
}

TEST(ZipArchiveTest, FindsTheDirectoryBehindAComment) {
  TestZip two = Two();
  two.comment = "made by hand, PK\x05\x06 and more of that";
  EXPECT_TRUE(OpenZip(two.Bytes()));
  two.comment = std::string(0xffff, 'x');
  two.large = true;
  EXPECT_TRUE(OpenZip(two.Bytes()));
  ExpectBadFile(two.Bytes() + "!", ErrorCode::kInvalidArgument, "expected a zip file");
}

TEST(ZipArchiveTest, AnArchiveThatIsCutShortIsRefused) {
  for (const bool large : {false, true}) {
    TestZip two = Two();
    two.comment = "comment";
    two.large = large;
    const std::string bytes = two.Bytes();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto zip = OpenZip(bytes.substr(0, length));
      ASSERT_FALSE(zip) << length;
      EXPECT_EQ(zip.error().code, ErrorCode::kInvalidArgument);
      EXPECT_THAT(zip.error().message, HasSubstr("and is it complete?"));
    }
    for (std::size_t from = 1; from < bytes.size(); ++from) {
      const auto zip = OpenZip(bytes.substr(from));
      EXPECT_FALSE(zip && ReadAll(*zip)) << from;
    }
  }
}

TEST(ZipArchiveTest, RefusesWhatIsNoZipFile) {
  ExpectBadFile("", ErrorCode::kInvalidArgument, "expected a zip file");
  ExpectBadFile(std::string(100'000, 'x'), ErrorCode::kInvalidArgument, "expected a zip file");
}

TEST(ZipArchiveTest, RefusesCompressedAndEncryptedMembers) {
  ExpectBadFile(TestZip{.members = {{.name = "m/a", .bytes = "packed", .method = 8}}}.Bytes(),
                ErrorCode::kInvalidArgument,
                "found 'm/a', which is compressed: write it again with torch.export.save");
  ExpectBadFile(TestZip{.members = {{.name = "m/a", .flags = 1}}}.Bytes(),
                ErrorCode::kInvalidArgument, "found 'm/a', which is encrypted");
}

TEST(ZipArchiveTest, RefusesTwoMembersOfOneName) {
  ExpectBadFile(TestZip{.members = {{.name = "m/a"}, {.name = "m/b"}, {.name = "m/a"}}}.Bytes(),
                ErrorCode::kCorruption, "'m/a' is there twice");
}

TEST(ZipArchiveTest, RefusesNamesThatLeadElsewhere) {
  for (const std::string& name :
       {std::string("../x"), std::string("/x"), std::string("a\\b"), std::string("a\0b", 3),
        std::string("a/../b"), std::string("a/.."), std::string("./a"), std::string(),
        std::string(ZipArchive::kMaxNameBytes + 1, 'a')}) {
    ExpectBadFile(TestZip{.members = {{.name = name}}}.Bytes(), ErrorCode::kInvalidArgument,
                  "expected names of members such as");
  }
  for (const std::string name : {"..a", "a..", "a/...", "a/", ".data/version"})
    EXPECT_TRUE(OpenZip(TestZip{.members = {{.name = name}}}.Bytes())) << name;
}

TEST(ZipArchiveTest, SaysWhichMemberIsDamaged) {
  std::string bytes = Two().Bytes();
  bytes[bytes.find("first")] = 'F';
  const auto zip = OpenZip(bytes);
  ASSERT_TRUE(zip);
  const auto read = zip->Read("m/a", 5);
  EXPECT_EQ(read.error().code, ErrorCode::kCorruption);
  EXPECT_EQ(read.error().message, "'m/a' is damaged: its checksum differs");
  const auto headless = OpenZip(With(Two().Bytes(), 0, 0));
  ASSERT_TRUE(headless);
  EXPECT_EQ(headless->Read("m/a", 5).error().code, ErrorCode::kCorruption);
}

TEST(ZipArchiveTest, RefusesADirectoryThatIsNotThere) {
  const std::string bytes = Two().Bytes();
  const std::size_t end = EndOf(bytes);
  ExpectBadFile(With<std::uint32_t>(bytes, end + 16, end + 1), ErrorCode::kCorruption,
                "outside of the file");
  ExpectBadFile(With<std::uint32_t>(bytes, end + 12, 0xfffffff0), ErrorCode::kCorruption,
                "outside of the file");
  ExpectBadFile(With<std::uint32_t>(bytes, end + 16, 0), ErrorCode::kCorruption, "damaged");
}

TEST(ZipArchiveTest, RefusesCountsThatDiffer) {
  const std::string bytes = Two().Bytes();
  const std::size_t end = EndOf(bytes);
  ExpectBadFile(With<std::uint16_t>(bytes, end + 10, 0xfffe), ErrorCode::kCorruption, "damaged");
  ExpectBadFile(With<std::uint16_t>(bytes, end + 10, 1), ErrorCode::kCorruption,
                "expected 1 members in its zip directory, found more");
  TestZip large = Two();
  large.large = true;
  const std::string large_bytes = large.Bytes();
  const std::size_t large_end = large_bytes.find("PK\x06\x06");
  ExpectBadFile(With(large_bytes, large_end + 32, UINT64_MAX), ErrorCode::kInvalidArgument,
                "expected at most 200000 members");
  ExpectBadFile(With(large_bytes, large_end + 40, UINT64_MAX), ErrorCode::kCorruption, "outside");
}

TEST(ZipArchiveTest, RefusesMembersThatLieOutside) {
  const std::string bytes = Two().Bytes();
  const std::size_t entry = DirectoryOf(bytes);
  ExpectBadFile(With<std::uint32_t>(bytes, entry + 42, 0xfffffff0), ErrorCode::kCorruption,
                "'m/a' lies outside of the file");
  ExpectBadFile(With<std::uint64_t>(bytes, entry + 20, 0x0fffffff'0fffffff), ErrorCode::kCorruption,
                "'m/a' lies outside of the file");
  ExpectBadFile(With<std::uint32_t>(bytes, entry + 20, 4), ErrorCode::kCorruption,
                "'m/a': the archive's zip directory gives two sizes for this member, 5 and 4");
  ExpectBadFile(With<std::uint16_t>(bytes, entry + 28, 0xffff), ErrorCode::kCorruption, "damaged");
}

TEST(ZipArchiveTest, SurvivesAnyChangeOfAByte) {
  TestZip two = Two();
  two.large = true;
  two.members[0].large = true;
  const std::string bytes = two.Bytes();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      const auto zip = OpenZip(With(bytes, at, static_cast<char>(bytes[at] ^ change)));
      if (!zip) continue;
      const Status read = ReadAll(*zip);
      if (!read) {
        EXPECT_EQ(read.error().code, ErrorCode::kCorruption) << read.error().message;
      }
    }
  }
}

TEST(Crc32Test, IsTheOneOfZipFiles) {
  EXPECT_EQ(Crc32(""), 0U);
  EXPECT_EQ(Crc32("123456789"), 0xcbf43926U);
}

}  // namespace
}  // namespace sluice::model

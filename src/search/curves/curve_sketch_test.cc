#include "search/curves/curve_sketch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "base/test_numbers.h"

namespace sluice {
namespace {

CurveSketch Upto(Work most) {
  CurveSketch sketch;
  for (Work work = 1; work <= most; ++work) sketch.Add(work, 100 - static_cast<double>(work));
  return sketch;
}

std::string Saved(const CurveSketch& sketch) {
  StateWriter writer;
  sketch.Save(writer);
  return writer.bytes();
}

bool Loads(const std::string& bytes) {
  StateReader reader(bytes);
  CurveSketch sketch;
  return sketch.Load(reader) && reader.Finish();
}

TEST(CurveSketchTest, BinsAreHalfOctaves) {
  const CurveSketch sketch = Upto(12);
  const auto bins = sketch.bins();
  ASSERT_EQ(bins.size(), 7u);  // 1, 2, 3, 4-5, 6-7, 8-11, 12
  EXPECT_EQ(bins[0], (CurveSketch::Bin{.work = 1, .loss = 99, .count = 1}));
  EXPECT_EQ(bins[3], (CurveSketch::Bin{.work = 4.5, .loss = 95.5, .count = 2}));
  EXPECT_DOUBLE_EQ(bins[5].work, 9.5);
  EXPECT_DOUBLE_EQ(bins[5].loss, 90.5);
  EXPECT_EQ(bins[5].count, 4);
  EXPECT_EQ(sketch.done(), 12);
}

TEST(CurveSketchTest, WorkReportedAgainDoesNoHarm) {
  const CurveSketch once = Upto(40);
  CurveSketch twice = Upto(40);
  for (Work work = 1; work <= 40; ++work) twice.Add(work, 100 - static_cast<double>(work));
  ASSERT_EQ(once.bins().size(), twice.bins().size());
  for (std::size_t i = 0; i < once.bins().size(); ++i) {
    EXPECT_NEAR(once.bins()[i].work, twice.bins()[i].work, 1e-9);
    EXPECT_NEAR(once.bins()[i].loss, twice.bins()[i].loss, 1e-9);
  }
  EXPECT_EQ(twice.done(), 40);
}

TEST(CurveSketchTest, NoNumberMeansDiverged) {
  for (const double loss : {kNan, kInfinity, -kInfinity, 1e200}) {
    CurveSketch sketch = Upto(3);
    EXPECT_FALSE(sketch.diverged());
    sketch.Add(4, loss);
    EXPECT_TRUE(sketch.diverged());
    EXPECT_EQ(sketch.bins().size(), 3u);
  }
}

// The last half octaves keep their bins; the bins of the first half octaves are merged.
TEST(CurveSketchTest, SpaceIsBounded) {
  CurveSketch sketch;
  sketch.Add(0, 64);
  for (int octave = 0; octave < 63; ++octave) {
    const Work work = Work{1} << octave;
    sketch.Add(work, 63 - octave);
    sketch.Add(work + work / 2, 62.5 - octave);
  }
  sketch.Add(kNoLimit, 0);
  ASSERT_EQ(sketch.bins().size(), CurveSketch::kMostBins);
  for (std::size_t i = 1; i < sketch.bins().size(); ++i) {
    EXPECT_GT(sketch.bins()[i].work, sketch.bins()[i - 1].work);
    EXPECT_LT(sketch.bins()[i].loss, sketch.bins()[i - 1].loss);
  }
  EXPECT_TRUE(Loads(Saved(sketch)));
}

TEST(CurveSketchTest, SurvivesASnapshot) {
  Random random(1);
  for (const Work most : {0, 1, 2, 30, 1000}) {
    CurveSketch sketch = Upto(most);
    for (int i = 0; i < most; ++i)
      sketch.Add(static_cast<Work>(random.Below(static_cast<std::uint64_t>(most))),
                 random.Normal());
    if (most == 30) sketch.Add(31, kNan);
    const std::string bytes = Saved(sketch);
    StateReader reader(bytes);
    CurveSketch again;
    ASSERT_TRUE(again.Load(reader));
    EXPECT_TRUE(reader.Finish());
    EXPECT_EQ(again.diverged(), sketch.diverged());
    EXPECT_EQ(again.done(), sketch.done());
    Digest before, after;
    sketch.AddTo(before);
    again.AddTo(after);
    EXPECT_EQ(before.Value(), after.Value());
    again.Add(7, 1);
    Digest changed;
    again.AddTo(changed);
    EXPECT_NE(before.Value(), changed.Value());
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(Loads(bytes.substr(0, cut)));
  }
}

// In each case one field has a value that Save does not write.
TEST(CurveSketchTest, RefusesWhatNoSketchIs) {
  struct Written {
    int diverged = 0;
    Work done = 5;
    double first_work = 2, first_loss = 1;
    std::int64_t first_count = 1;
    double last_work = 4.5;
  };
  const auto loads = [](const Written& written) {
    StateWriter writer;
    writer.Put(written.diverged);
    writer.Put(written.done);
    writer.Put(2);
    writer.Put(written.first_work);
    writer.Put(written.first_loss);
    writer.Put(written.first_count);
    writer.Put(written.last_work);
    writer.Put(0.5);
    writer.Put(2);
    return Loads(writer.bytes());
  };
  EXPECT_TRUE(loads({}));
  EXPECT_FALSE(loads({.diverged = 2}));
  EXPECT_FALSE(loads({.done = 4}));  // less than the last bin's mean
  EXPECT_FALSE(loads({.done = 6}));  // in another bin
  EXPECT_FALSE(loads({.done = -1}));
  EXPECT_FALSE(loads({.first_work = kNan}));
  EXPECT_FALSE(loads({.first_work = -1}));
  EXPECT_FALSE(loads({.first_work = 4}));  // the same bin twice
  EXPECT_FALSE(loads({.first_work = 8}));  // out of order
  EXPECT_FALSE(loads({.first_loss = kNan}));
  EXPECT_FALSE(loads({.first_loss = 1e200}));
  EXPECT_FALSE(loads({.first_count = 0}));
  EXPECT_FALSE(loads({.first_count = -1}));
  EXPECT_FALSE(loads({.first_count = (std::int64_t{1} << 32) + 1}));
  EXPECT_FALSE(loads({.last_work = kInfinity}));
}

}  // namespace
}  // namespace sluice

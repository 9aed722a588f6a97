// Measures reading, analysing and shrinking a network within one process, from an archive in
// memory. The variable SLUICE_ARCHIVE names the file. Without it, nothing is read, and a network of
// the zoo is analysed and shrunk.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "model/read/archive.h"
#include "model/shrink/shrink.h"
#include "model/shrink/widths.h"
#include "model/zoo/zoo.h"

namespace sluice::model {
namespace {

std::string ArchiveBytes() {
  const char* path = std::getenv("SLUICE_ARCHIVE");
  if (path == nullptr) return "";
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Read(benchmark::State& state) {
  const std::string bytes = ArchiveBytes();
  if (bytes.empty()) {
    state.SkipWithError("SLUICE_ARCHIVE names no archive");
    return;
  }
  std::size_t nodes = 0;
  for (auto _ : state) {
    const auto archive = Archive::Open(FromMemory(bytes), "archive");
    if (!archive) {
      state.SkipWithError(archive.error().message.c_str());
      return;
    }
    nodes = archive->graph().nodes.size();
  }
  state.counters["operators"] = static_cast<double>(nodes);
}
BENCHMARK(Read)->Unit(benchmark::kMillisecond);

Graph GraphToAnalyse() {
  const std::string bytes = ArchiveBytes();
  if (bytes.empty()) return BuildFromZoo("gpt3-xl")->graph;
  return Archive::Open(FromMemory(bytes), "archive")->graph();
}

void Analyse(benchmark::State& state) {
  const Graph graph = GraphToAnalyse();
  for (auto _ : state) benchmark::DoNotOptimize(Widths::Find(graph));
  state.counters["operators"] = static_cast<double>(graph.nodes.size());
}
BENCHMARK(Analyse)->Unit(benchmark::kMillisecond);

void ShrinkBy8(benchmark::State& state) {
  const Graph graph = GraphToAnalyse();
  const Widths widths = *Widths::Find(graph);
  for (auto _ : state) benchmark::DoNotOptimize(Shrink(graph, widths, {}));
  state.counters["operators"] = static_cast<double>(graph.nodes.size());
}
BENCHMARK(ShrinkBy8)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::model

#include "core/runtime/choice_store.h"

#include <algorithm>
#include <sstream>

#include "core/base/sha256.h"
#include "core/runtime/kernels/host_cpu.h"
#include "core/runtime/kernels/sealed_folder.h"
#include "core/torch_api/bridge.h"

namespace vitrine::runtime {

namespace {

// chosen 1 threads 2 fused 0
// 0 1520000 0
// 1 890000 0
// end
// A GPU's kernel has its shape's text behind each time.
std::string text_of(const codegen::ProductChoice& choice) {
  std::ostringstream out;
  out << "chosen " << choice.candidate << " threads " << choice.threads << " fused " << choice.fused << "\n";
  for (const codegen::ProductTime& time : choice.times)
    out << time.candidate << " " << time.ns << " " << time.fused << (time.shape.empty() ? "" : " ")
        << time.shape << "\n";
  out << "end\n";
  return out.str();
}

std::optional<codegen::ProductChoice> choice_of(const std::string& text) {
  std::istringstream in(text);
  codegen::ProductChoice choice;
  std::string chosen, threads, fused, word;
  if (!(in >> chosen >> choice.candidate >> threads >> choice.threads >> fused >> choice.fused)) return {};
  const auto count = static_cast<int32_t>(codegen::product_candidates().size());
  while (in >> word && word != "end") {
    codegen::ProductTime time;
    std::istringstream number(word);
    if (!(number >> time.candidate) || !(in >> time.ns >> time.fused)) return {};
    if (in.get() == ' ') std::getline(in, time.shape);
    if (time.candidate < 0 || time.candidate >= count || time.ns <= 0) return {};
    choice.times.push_back(time);
  }
  const bool measured =
      std::any_of(choice.times.begin(), choice.times.end(), [&](const codegen::ProductTime& t) {
        return t.candidate == choice.candidate && t.fused == choice.fused;
      });
  // Equal to what would be written: nothing is missing and nothing was added.
  if (!measured || text_of(choice) != text) return {};
  choice.source = "kept";
  return choice;
}

}  // namespace

ChoiceStore::ChoiceStore(const std::string& cache_dir)
    : dir_(cache_dir.empty() ? "" : cache_dir + "/choices") {}

std::string ChoiceStore::key(const std::string& product, int threads) {
  return sha256_hex("format 2\n" + host_cpu_identity() + "\nPyTorch " + torch_api::facts().torch_version +
                    "\nthreads " + std::to_string(threads) + "\n" + product)
      .substr(0, 40);
}

std::string ChoiceStore::gpu_key(const std::string& work, const std::string& machine) {
  return sha256_hex("format 3\n" + machine + "\nPyTorch " + torch_api::facts().torch_version + "\n" + work)
      .substr(0, 40);
}

std::optional<codegen::ProductChoice> ChoiceStore::find(const std::string& key) const {
  auto folder = dir_.empty() ? Result<SealedFolder>(Error{}) : SealedFolder::open(dir_);
  auto file = folder ? folder.value().find(key, "") : std::nullopt;
  return file ? choice_of(file->content) : std::nullopt;
}

void ChoiceStore::insert(const std::string& key, const codegen::ProductChoice& choice) const {
  if (dir_.empty()) return;
  if (auto folder = SealedFolder::open(dir_)) (void)folder.value().insert(key, "", text_of(choice));
}

}  // namespace vitrine::runtime

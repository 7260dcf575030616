// Packages of vitrine.export: what one would run, without running any of it.
#include <algorithm>

#include "app/importing/input.h"
#include "app/importing/session_builder.h"
#include "core/package/description.h"

namespace vitrine::importing {

using namespace session;
using package::Description;

namespace {

std::string sized(int64_t bytes) {
  if (bytes < 10'000) return std::to_string(bytes) + " B";
  if (bytes < 10'000'000) return std::to_string(bytes / 1000) + " kB";
  return std::to_string(bytes / 1'000'000) + " MB";
}

std::string listed(const std::vector<std::pair<std::string, std::string>>& tensors) {
  std::string out;
  for (const auto& [name, type] : tensors) out += (out.empty() ? "" : ", ") + name + ": " + type;
  return out;
}

std::string isa_of(const Description& d) {
  return d.cpu == "x86-64-v4" ? "avx512" : d.cpu == "x86-64-v3" ? "avx2" : d.cpu;
}

std::vector<Id> put_kernels(const Description& d, Id compilation, SessionBuilder& out) {
  std::vector<Id> ids;
  for (const package::DescribedKernel& kernel : d.kernels) {
    KernelRow row;
    row.id = out.out().next(Kind::Kernel);
    row.compilation = compilation;
    row.ordinal = static_cast<int64_t>(ids.size());
    row.label = kernel.label, row.name = kernel.name, row.kind = kernel.kind;
    row.family = kernel.family, row.language = kernel.language;
    row.bytes = kernel.bytes, row.flops = kernel.flops;
    if (kernel.kind == "generated") row.isa = kernel.language == "c++" ? isa_of(d) : "";
    if (!kernel.text.empty()) row.source = out.out().blob(kernel.text);
    out.out().put(row);
    if (kernel.language == "cuda c++") out.out().put(GpuKernelRow{row.id, d.gpu});
    if (kernel.code_bytes > 0)
      out.out().put(RemarkRow{row.id, 1, 0, "package", "analysis",
                              "its machine code takes " + sized(kernel.code_bytes) + " of the package"});
    ids.push_back(row.id);
  }
  return ids;
}

void put_steps(const Description& d, const std::vector<Id>& kernels, Id compilation, SessionBuilder& out) {
  for (size_t i = 0; i < d.steps.size(); ++i) {
    const package::DescribedStep& step = d.steps[i];
    LaunchRow row;
    row.id = out.out().next(Kind::Launch);
    row.compilation = compilation;
    row.ordinal = static_cast<int64_t>(i);
    row.kind = step.kind, row.text = step.text, row.args = step.arguments;
    if (step.kernel >= 0) row.kernel = kernels[static_cast<size_t>(step.kernel)];
    out.out().put(row);
    if (row.kernel) out.out().link(row.kernel, row.id);
  }
}

void put_buffers(const Description& d, Id compilation, SessionBuilder& out) {
  std::vector<Id> ids(d.buffers.size());
  for (Id& id : ids) id = out.out().next(Kind::Buffer);
  for (size_t i = 0; i < ids.size(); ++i) {
    const package::DescribedBuffer& buffer = d.buffers[i];
    BufferRow row{ids[i], compilation, static_cast<int64_t>(i), buffer.name, buffer.kind, buffer.type};
    row.bytes = buffer.bytes, row.first = buffer.first, row.last = buffer.last, row.offset = buffer.offset;
    if (buffer.reuses >= 0 && static_cast<size_t>(buffer.reuses) < ids.size())
      row.reuses = ids[static_cast<size_t>(buffer.reuses)];
    out.out().put(row);
  }
}

void put_sizes(const Description& d, Id compilation, SessionBuilder& out) {
  for (size_t i = 0; i < d.sizes.size(); ++i) {
    const package::DescribedSize& size = d.sizes[i];
    out.out().put(SymbolRow{compilation, static_cast<int64_t>(i), size.name, size.source,
                            "left open by vitrine.export", size.hint, size.lo, size.hi, ""});
  }
  for (size_t i = 0; i < d.asks.size(); ++i)
    out.out().put(
        SymbolGuardRow{compilation, static_cast<int64_t>(i), d.asks[i].first, d.asks[i].second, ""});
}

}  // namespace

bool is_package(const std::string& path) {
  return path.ends_with(".vpkg") || first_bytes(path, 64).find("\"checksum\":\"") != std::string::npos;
}

Status import_package(const std::string& path, SessionBuilder& out) {
  auto described = package::describe(path);
  if (!described) return described.error();
  const Description& d = described.value();
  CompilationRow& compilation = out.compilation(out.segment("package", "", 0), "0/0");
  if (!d.gpu.empty()) out.run.device = "cuda";
  out.run.inputs = listed(d.takes);
  const std::vector<Id> kernels = put_kernels(d, compilation.id, out);
  put_steps(d, kernels, compilation.id, out);
  put_buffers(d, compilation.id, out);
  put_sizes(d, compilation.id, out);
  out.stage(compilation.id, "kernels", d.generated, 0);
  out.stage(compilation.id, "memory", d.arena_bytes, 0);
  out.stage(compilation.id, "launch", static_cast<int64_t>(d.steps.size()), 0);
  out.note("info", "It takes " + listed(d.takes) + ". It gives " + listed(d.gives) + ".");
  out.note("info", "It runs " + std::to_string(d.generated) + " kernels for " + d.target() +
                       " and calls PyTorch " + std::to_string(d.calls) + " times.");
  out.note("info", "It holds " + std::to_string(d.weights) + " weights of " + sized(d.weight_bytes) +
                       ". It was made by " + d.made_by + ".");
  return {};
}

}  // namespace vitrine::importing

#include "core/runtime/program_key.h"

#include <link.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "core/base/sha256.h"
#include "core/ir/packing.h"
#include "core/kernel_compiler/protocol/protocol.h"
#include "core/runtime/kernels/host_cpu.h"
#include "core/torch_api/bridge.h"

namespace vitrine::runtime {

namespace {

// Of the bytes of a program and of the pipeline's meaning; one that is not changed with them is harmless,
// since the build's own identity is beside it.
constexpr int kFormat = 2;

// "name value" a line.
class KeyLines {
 public:
  template <class T>
  KeyLines& add(std::string_view name, const T& value) {
    out_ << name << ' ' << value << '\n';
    return *this;
  }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out.empty() ? "none" : out;
}

// The identity that the linker gave the file which this code is in; "" where it gave none.
std::string build_id() {
  std::string out;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        const auto here = reinterpret_cast<uintptr_t>(&build_id);
        const auto* begin = info->dlpi_phdr;
        const auto* end = begin + info->dlpi_phnum;
        const bool ours = std::any_of(begin, end, [&](const ElfW(Phdr) & p) {
          return p.p_type == PT_LOAD && here >= info->dlpi_addr + p.p_vaddr &&
                 here < info->dlpi_addr + p.p_vaddr + p.p_memsz;
        });
        if (!ours) return 0;
        for (const auto* p = begin; p != end; ++p) {
          if (p->p_type != PT_NOTE) continue;
          const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + p->p_vaddr);
          for (const char* stop = at + p->p_memsz; at + sizeof(ElfW(Nhdr)) <= stop;) {
            const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
            const char* name = at + sizeof *note;
            const char* content = name + (note->n_namesz + 3) / 4 * 4;
            at = content + (note->n_descsz + 3) / 4 * 4;
            if (at <= stop && note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
                std::string_view(name, 3) == "GNU")
              *static_cast<std::string*>(found) = sha256_hex({content, note->n_descsz}).substr(0, 16);
          }
        }
        return 1;
      },
      &out);
  return out;
}

// A new field of one of these structs does not compile until it is a line, or is told why not.

void add_options(KeyLines& out, const CompileOptions& options) {
  // fuse, verify, edited, bisect, faults: nothing is kept (why_not_kept). sizes: what was met at other sizes
  // decides which numbers are arguments, and either program is right. products, threads, lanes, freezing,
  // graphs, disabled_passes: with what they become. versions: counted anew. The others say where things lie.
  const auto& [mode, fuse, verify, disabled_passes, products, freezing, lanes, cache_dir, threads, sizes,
               kernel_compiler, nvrtc, nvdisasm, graphs, kept_results, is_backward, versions, trains, arenas,
               tuning_seconds, tuning_ns, edited, bisect, faults, watched, observer, user_passes, stages,
               programs, target, place, kept, tell_kept] = options;
  out.add("mode", mode).add("products", products).add("freezing", freezing).add("graphs", graphs);
  for (const pipeline::UserPass& pass : user_passes ? *user_passes : pipeline::UserPasses())
    out.add("user_pass", pass.name + " after " + pass.after + ", " + sha256_hex(pass.key).substr(0, 16));
  out.add("kept_results", kept_results).add("is_backward", is_backward).add("trains", trains);
}

void add_settings(KeyLines& out, const pipeline::Settings& settings) {
  const auto& [matrix_f32, convolutions_tf32, gelu_f32, gelu_bf16, gelu_f16, multiplies_bf16, multiplies_f16,
               matrices, graphs, forward_half, infers, spares_memory, disabled] = settings;
  out.add("matrices", matrices).add("matrix_f32", matrix_f32).add("convolutions_tf32", convolutions_tf32);
  out.add("library_gelu_f32", gelu_f32).add("library_gelu_bf16", gelu_bf16).add("library_gelu_f16", gelu_f16);
  out.add("multiplies_bf16", multiplies_bf16).add("multiplies_f16", multiplies_f16);
  out.add("cudnn_graphs", graphs).add("forward_half", forward_half).add("infers", infers);
  out.add("spares_memory", spares_memory);
  out.add("disabled_passes", joined(disabled));
}

void add_codegen(KeyLines& out, KeyLines& target, const codegen::CodegenOptions& how) {
  // by_pytorch: what has no code is not kept. gpu, draws: of a GPU, whose programs are not kept.
  const auto& [lanes, products, fuse, by_pytorch, stream_bytes, own_results, gives_back, gpu, draws, ordered,
               sizes, edited, bisect, faults] = how;
  const auto& [offered, threads, least_flops, only, any_size, holds_weights, on_gpu, choices] = products;
  out.add("threads", threads)
      .add("products_offered", offered)
      .add("least_flops", least_flops)
      .add("only", only);
  out.add("any_size", any_size).add("holds_weights", holds_weights).add("on_gpu", on_gpu);
  out.add("own_results", own_results).add("gives_back", gives_back).add("deterministic", ordered);
  target.add("lanes", lanes).add("cache_bytes", stream_bytes);
}

// An integer of a list is one of sizes, strides or places far more often than not: -1 stands in its place.
void add_arg(ir::Packer& graph, ir::Packer& layouts, const ir::Arg& arg) {
  if (!arg.is<std::vector<ir::Arg>>()) return ir::pack(graph, arg);
  const auto& list = arg.as<std::vector<ir::Arg>>();
  graph.integer(-2 - static_cast<int64_t>(list.size()));
  for (const ir::Arg& item : list)
    if (item.is<ir::Sym>())
      graph.integer(-1), ir::pack(layouts, item);
    else
      add_arg(graph, layouts, item);
}

void add_node(ir::Packer& graph, ir::Packer& layouts, const ir::Node& node) {
  // checkpoint, from, file, module, line, ...: for people. op: kernels are named by it.
  const auto& [id, kind, name, op, args, kwargs, outputs, source, reads_only, makes_new, origin] = node;
  graph.node(id);
  graph.integer(static_cast<int64_t>(kind));
  ir::pack_all(graph, name, op, source, reads_only, makes_new, origin.op);
  graph.integer(static_cast<int64_t>(args.size()));
  for (const ir::Arg& arg : args) add_arg(graph, layouts, arg);
  graph.integer(static_cast<int64_t>(kwargs.size()));
  for (const auto& [word, arg] : kwargs) {
    graph.text(word);
    add_arg(graph, layouts, arg);
  }
  ir::pack(layouts, outputs);
}

std::string why_not_kept(const ir::Graph& aten, const CompileOptions& options) {
  if (options.cache_dir.empty()) return "there is no cache folder";
  if (options.verify) return "the graph is verified after each pass";
  if (options.edited) return "kernels are edited";
  if (options.bisect || options.faults) return "the compiler is being looked into";
  if (options.stages) return "its stages are looked at";
  for (const pipeline::UserPass& pass : options.user_passes ? *options.user_passes : pipeline::UserPasses())
    if (pass.key.empty()) return "the pass " + pass.name + " of the user's has no key";
  if (!options.target.empty()) return "it is compiled for a GPU";
  for (const ir::Node& node : aten.nodes())
    for (const ir::TensorType& type : node.outputs)
      if (!type.device.is_cpu()) return "it is compiled for a GPU";
  if (build_id().empty()) return "this build of Vitrine has no identity";
  return "";
}

// Ranges and guards of the symbols, and the atoms by whose numbers expressions are told apart.
void add_sizes(ProgramKey& key, const ir::SymbolTable& table) {
  KeyLines lines, first;
  for (const ir::Symbol& symbol : table.symbols()) {
    lines.add(symbol.name, ir::range_text(symbol.range));
    first.add(symbol.name, symbol.hint);
  }
  for (const ir::SymGuard& guard : table.guards()) lines.add("guard", table.text(guard));
  ir::Packer all(&table);
  for (const ir::SymAtom& atom : table.atoms()) {
    all.integer(static_cast<int64_t>(atom.op));
    ir::pack_all(all, atom.symbol, atom.a, atom.b);
  }
  key.sizes = lines.add("expressions", sha256_hex(all.bytes()).substr(0, 32)).text();
  key.first_sizes = first.text();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// "threads 2, was 4": the lines that are not in both.
std::string changed_lines(const std::string& wanted, const std::string& kept) {
  const std::vector<std::string> now = lines_of(wanted), before = lines_of(kept);
  std::string out;
  for (size_t i = 0; i < now.size(); ++i) {
    if (i < before.size() && before[i] == now[i]) continue;
    const size_t word = now[i].find(' ') + 1;
    const bool same_name = i < before.size() && before[i].substr(0, word) == now[i].substr(0, word);
    out += (out.empty() ? "" : "; ") + now[i] + (same_name ? ", was " + before[i].substr(word) : "");
  }
  return out;
}

}  // namespace

std::string ProgramKey::digest() const {
  std::string all;
  for (const KeyPart& part : kKeyParts)
    all += std::string(part.name) + " " + std::to_string((this->*part.text).size()) + "\n" + this->*part.text;
  return sha256_hex(all);
}

std::string ProgramKey::digest_at_first_sizes() const {
  return sha256_hex(digest() + "\nfirst sizes\n" + first_sizes);
}

int differing_parts(const ProgramKey& wanted, const ProgramKey& kept) {
  return static_cast<int>(std::count_if(kKeyParts.begin(), kKeyParts.end(), [&](const KeyPart& part) {
    return wanted.*part.text != kept.*part.text;
  }));
}

std::string difference(const ProgramKey& wanted, const ProgramKey& kept) {
  std::string out;
  for (const KeyPart& part : kKeyParts) {
    const std::string &now = wanted.*part.text, &before = kept.*part.text;
    if (now == before) continue;
    out += (out.empty() ? "" : ", ") + std::string(part.name);
    if (part.in_lines && !before.empty() && !now.empty()) out += ": " + changed_lines(now, before);
  }
  return out;
}

Result<ProgramKey> program_key(const ir::Graph& aten, const CompileOptions& options,
                               const pipeline::Settings& settings, const codegen::CodegenOptions& how) {
  if (std::string why = why_not_kept(aten, options); !why.empty()) return Error{std::move(why), "", ""};
  ProgramKey key;
  const ir::SymbolTable* table = ir::symbols_of(aten);
  ir::Packer graph(table), layouts(table);
  try {
    for (const ir::Node& node : aten.nodes()) add_node(graph, layouts, node);
    ir::pack(graph, aten.results());
  } catch (const ir::PackingError& e) {
    return Error{e.what(), "", ""};
  }
  if (table) add_sizes(key, *table);
  key.graph = sha256_hex(graph.bytes());
  key.layouts = sha256_hex(layouts.bytes());
  KeyLines settings_lines, target;
  add_options(settings_lines, options);
  add_settings(settings_lines, settings);
  add_codegen(settings_lines, target, how);
  key.settings = settings_lines.text();
  key.target = target.add("processor", host_cpu_identity()).text();
  key.versions = KeyLines()
                     .add("format", kFormat)
                     .add("vitrine", build_id())
                     .add("pytorch", torch_api::facts().torch_version)
                     .add("kernel_protocol", kernel_compiler::kProtocolVersion)
                     .add("llvm", kernel_compiler::llvm_version_built_for())
                     .text();
  return key;
}

}  // namespace vitrine::runtime

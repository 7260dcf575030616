#include "core/package/description.h"

#include "core/package/package.h"

namespace vitrine::package {

namespace {

using codegen::Step;

std::string type_text(const ir::TensorType& type) {
  return std::string(ir::dtype_name(type.dtype)) + "[" + ir::dims_text(type.sizes) + "]";
}

class Describer {
 public:
  explicit Describer(const Package& package) : package_(package), program_(package.program()) {}

  Description run() {
    out_.cpu = package_.cpu(), out_.gpu = package_.gpu(), out_.made_by = package_.made_by();
    out_.generated = static_cast<int64_t>(program_.kernels.size());
    out_.arena_bytes = program_.arena_bytes.hint();
    arguments();
    returned();
    sizes();
    buffers();
    for (const Step& step : program_.steps) this->step(step);
    return std::move(out_);
  }

 private:
  const codegen::Buffer& buffer(int32_t b) const { return program_.buffers[static_cast<size_t>(b)]; }

  void arguments() {
    for (size_t i = 0; i < package_.arguments().size(); ++i) {
      const PackageArgument& argument = package_.arguments()[i];
      if (argument.weight)
        ++out_.weights,
            out_.weight_bytes += static_cast<int64_t>(package_.weight(argument.name).bytes.size());
      else
        out_.takes.emplace_back(argument.name, type_text(buffer(program_.input_buffer[i]).type));
    }
  }

  void returned() {
    for (const Returned& returned : package_.returned()) {
      const size_t at = returned.number;
      int32_t b = returned.given ? program_.input_buffer[at] : -1;
      for (const auto& [value, held] : program_.value_buffer)
        if (!returned.given && value == program_.results[at].as<ir::Ref>()) b = held;
      if (b >= 0) out_.gives.emplace_back(returned.name, type_text(buffer(b).type));
    }
  }

  void sizes() {
    for (const ir::Symbol& symbol : package_.symbols().symbols())
      out_.sizes.push_back({symbol.name, symbol.source, symbol.hint, symbol.range.lo, symbol.range.hi});
    for (const ir::SymGuard& guard : package_.symbols().guards())
      out_.asks.emplace_back(package_.symbols().text(guard), guard.place);
  }

  // Names of weights are the package's own; the program has others for them.
  void buffers() {
    static constexpr const char* kKinds[] = {"input", "parameter", "temporary", "output", "temporary"};
    for (const codegen::Buffer& b : program_.buffers) {
      DescribedBuffer row{b.name, kKinds[static_cast<size_t>(b.kind)], type_text(b.type)};
      row.bytes = b.view_of >= 0 ? 0 : extent(b.type).value_or(0);
      row.first = b.first_step, row.last = b.last_step, row.offset = b.arena_offset.hint();
      row.reuses = b.reuses;
      if (b.view_of >= 0) row.kind = "view";
      out_.buffers.push_back(std::move(row));
    }
    for (size_t i = 0; i < package_.arguments().size(); ++i) {
      DescribedBuffer& row = out_.buffers[static_cast<size_t>(program_.input_buffer[i])];
      row.name = package_.arguments()[i].name;
      row.kind = package_.arguments()[i].weight ? "parameter" : "input";
    }
  }

  void step(const Step& step) {
    static constexpr const char* kKinds[] = {"kernel", "library", "opaque", "view"};
    const bool ours = step.kind == Step::Kind::kernel;
    DescribedStep row{kKinds[static_cast<size_t>(step.kind)], step.label + " ", ""};
    row.text += ours ? program_.kernels[static_cast<size_t>(step.kernel)].name : ir::short_op(step.node.op);
    const auto add = [&](int32_t b) {
      row.arguments += (row.arguments.empty() ? "" : ", ") + out_.buffers[static_cast<size_t>(b)].name;
    };
    for (const int32_t b : step.buffers) add(b);
    if (!ours)
      for (const int32_t b : step.outs) add(b);
    if (step.kind != Step::Kind::view) {
      row.kernel = static_cast<int32_t>(out_.kernels.size());
      out_.kernels.push_back(ours ? generated(step) : called(step));
    }
    out_.calls += step.kind == Step::Kind::library || step.kind == Step::Kind::opaque;
    out_.steps.push_back(std::move(row));
  }

  DescribedKernel generated(const Step& step) const {
    const auto number = static_cast<size_t>(step.kernel);
    const codegen::Kernel& k = program_.kernels[number];
    DescribedKernel out{step.label, k.name, "generated", k.family};
    out.language = k.grid.blocks.hint() > 0 ? "cuda c++" : "c++";
    out.text = k.text;
    out.bytes = k.bytes.hint(), out.flops = k.flops.hint();
    out.code_bytes = static_cast<int64_t>(package_.kernel(number).size());
    return out;
  }

  DescribedKernel called(const Step& step) const {
    const bool library = step.kind == Step::Kind::library;
    DescribedKernel out{step.label, ir::short_op(step.node.op), library ? "library" : "opaque",
                        library ? "matmul" : "opaque", "pytorch"};
    for (const auto* all : {&step.buffers, &step.outs})
      for (const int32_t b : *all)
        if (__builtin_add_overflow(out.bytes, extent(buffer(b).type).value_or(0), &out.bytes)) out.bytes = 0;
    return out;
  }

  const Package& package_;
  const codegen::Program& program_;
  Description out_;
};

}  // namespace

Description describe(const Package& package) {
  return Describer(package).run();
}

Result<Description> describe(const std::string& path) {
  auto package = Package::open(path);
  if (!package) return package.error();
  return describe(*package.value());
}

}  // namespace vitrine::package

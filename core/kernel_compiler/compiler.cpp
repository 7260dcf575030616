#include "core/kernel_compiler/compiler.h"

#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Basic/SourceManager.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "core/base/clock.h"
#include "core/kernel_compiler/listing.h"

namespace vitrine::kernel_compiler {

namespace {

constexpr const char* kFileName = "kernel.cpp";

// Gathers diagnostics and optimisation remarks as rows.
class Collector : public clang::DiagnosticConsumer {
 public:
  explicit Collector(Response& response) : response_(response) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override {
    DiagnosticConsumer::HandleDiagnostic(level, info);
    llvm::SmallString<256> text;
    info.FormatDiagnostic(text);
    int32_t line = 0, col = 0;
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      clang::PresumedLoc place = info.getSourceManager().getPresumedLoc(info.getLocation());
      if (place.isValid()) {
        line = static_cast<int32_t>(place.getLine());
        col = static_cast<int32_t>(place.getColumn());
      }
    }
    if (level == clang::DiagnosticsEngine::Remark)
      add_remark(line, col, info, text.str().str());
    else if (level != clang::DiagnosticsEngine::Ignored)
      response_.diagnostics.push_back({name(level), line, col, text.str().str()});
  }

 private:
  static std::string name(clang::DiagnosticsEngine::Level level) {
    switch (level) {
      case clang::DiagnosticsEngine::Note:
        return "note";
      case clang::DiagnosticsEngine::Warning:
        return "warning";
      case clang::DiagnosticsEngine::Fatal:
        return "fatal";
      default:
        return "error";
    }
  }

  void add_remark(int32_t line, int32_t col, const clang::Diagnostic& info, std::string text) {
    llvm::StringRef group = clang::DiagnosticIDs::getWarningOptionForDiag(info.getID());
    std::string kind = group == "pass" ? "passed" : group == "pass-missed" ? "missed" : "analysis";
    Remark remark{line, col, info.getDiags()->getFlagValue().str(), std::move(kind), std::move(text)};
    auto same = [&](const Remark& r) {
      return r.line == remark.line && r.col == remark.col && r.pass == remark.pass && r.text == remark.text;
    };
    auto& all = response_.texts.remarks;
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(remark));
  }

  Response& response_;
};

std::vector<std::string> arguments(const Request& request, const std::string& cpu) {
  std::vector<std::string> args = {"-triple", llvm::sys::getDefaultTargetTriple(), "-target-cpu", cpu};
  // For a kind of processors: instructions of all of them, in the order and width that suit this one.
  if (request.cpu != "native") args.insert(args.end(), {"-tune-cpu", host_cpu()});
  args.insert(args.end(), kClangArguments.begin(), kClangArguments.end());
  if (request.texts) {
    for (const char* a :
         {"-debug-info-kind=line-tables-only", "-dwarf-version=5", "-Rpass=loop-vectorize|slp-vectorizer",
          "-Rpass-missed=loop-vectorize", "-Rpass-analysis=loop-vectorize"})
      args.emplace_back(a);
  } else {
    args.emplace_back("-discard-value-names");
  }
  for (const char* a : {"-main-file-name", kFileName, "-x", "c++", kFileName}) args.emplace_back(a);
  return args;
}

std::unique_ptr<llvm::Module> front_end(const Request& request, const std::string& cpu, Response& response,
                                        llvm::LLVMContext& context) {
  std::vector<std::string> args = arguments(request, cpu);
  std::vector<const char*> pointers;
  for (const std::string& a : args) pointers.push_back(a.c_str());
  Collector collector(response);
  clang::CompilerInstance clang;
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  {
    auto diagnostics =
        clang::CompilerInstance::createDiagnostics(new clang::DiagnosticOptions, &collector, false);
    if (!clang::CompilerInvocation::CreateFromArgs(*invocation, pointers, *diagnostics)) return nullptr;
  }
  // A file that exists in memory only, yet under a name: remarks find their lines by it.
  invocation->getPreprocessorOpts().addRemappedFile(
      kFileName, llvm::MemoryBuffer::getMemBufferCopy(request.source, kFileName).release());
  clang.setInvocation(std::move(invocation));
  // After the invocation is in place: remarks asked for by it are dropped silently otherwise.
  clang.createDiagnostics(&collector, false);
  clang::EmitLLVMOnlyAction action(&context);
  if (!clang.ExecuteAction(action)) return nullptr;
  return action.takeModule();
}

std::unique_ptr<llvm::TargetMachine> target_machine(const llvm::Module& module, const std::string& cpu,
                                                    std::string& error) {
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(module.getTargetTriple(), error);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;  // as -ffp-contract=fast
  options.MCOptions.AsmVerbose = true;
  // Functions carry their own CPU and features; Clang put them there.
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(module.getTargetTriple(), cpu, "", options, llvm::Reloc::PIC_, std::nullopt,
                                  llvm::CodeGenOptLevel::Aggressive));
}

bool emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type, std::string& out) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) return false;
  passes.run(module);
  out.assign(bytes.begin(), bytes.end());
  return true;
}

// Which lines of a kernel's text are its own: all but those from "// prelude" to "// end of prelude".
std::vector<bool> own_lines(const std::string& source) {
  std::vector<bool> own = {false};  // lines count from 1
  bool prelude = false;
  std::istringstream text(source);
  for (std::string line; std::getline(text, line);) {
    prelude = prelude || line.starts_with("// prelude");
    own.push_back(!prelude);
    prelude = prelude && !line.starts_with("// end of prelude");
  }
  return own;
}

// What was inlined counts as the innermost line that is the kernel's own: that is what people read. A line of
// a lambda, or of what follows a product, says more than the call around it.
void own_locations(llvm::Module& module, const std::vector<bool>& own) {
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block) {
        const llvm::DILocation* place = instruction.getDebugLoc().get();
        if (!place) continue;
        while (place->getInlinedAt() && (place->getLine() >= own.size() || !own[place->getLine()]))
          place = place->getInlinedAt();
        instruction.setDebugLoc(llvm::DebugLoc(place));
      }
}

bool make_texts(llvm::Module& module, llvm::TargetMachine& machine, const std::string& source, Texts& texts) {
  own_locations(module, own_lines(source));
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  module.print(stream, nullptr);
  stream.flush();
  Listing ir = list_ir(printed);
  texts.ir = std::move(ir.text);
  texts.ir_lines = std::move(ir.lines);
  std::string assembly;
  // Code generation changes the module: the object is made from the original.
  if (!emit(*llvm::CloneModule(module), machine, llvm::CodeGenFileType::AssemblyFile, assembly)) return false;
  texts.spills = count_spills(assembly);
  Listing listing = list_assembly(assembly);
  texts.assembly = std::move(listing.text);
  texts.assembly_lines = std::move(listing.lines);
  return true;
}

}  // namespace

std::string llvm_version() {
  return LLVM_VERSION_STRING;
}

std::string host_cpu() {
  return llvm::sys::getHostCPUName().str();
}

bool compile_object(const Request& request, Response& response, std::string& object) {
  static const bool initialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialised;
  response.cpu = request.cpu == "native" ? host_cpu() : request.cpu;
  llvm::LLVMContext context;
  int64_t start = monotonic_ns();
  auto module = front_end(request, response.cpu, response, context);
  int64_t front = monotonic_ns();
  response.front_ns = front - start;
  if (!module) {
    response.error = "the kernel's source has errors";
    return false;
  }
  std::string problem;
  auto machine = target_machine(*module, response.cpu, problem);
  if (!machine) {
    response.error = "no code generator for this machine: " + problem;
    return false;
  }
  module->setDataLayout(machine->createDataLayout());
  bool ok = !request.texts || make_texts(*module, *machine, request.source, response.texts);
  ok = ok && emit(*module, *machine, llvm::CodeGenFileType::ObjectFile, object);
  response.codegen_ns = monotonic_ns() - front;
  if (!ok) response.error = "LLVM cannot write this kind of object file";
  return ok;
}

}  // namespace vitrine::kernel_compiler

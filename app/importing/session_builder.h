// Rows of a session that stands for what another tool recorded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/importing/fx_text.h"
#include "core/session/writer.h"

namespace vitrine::importing {

struct ImportedSlice {
  int64_t start = 0, duration = 0;
  int64_t name = 0;  // row of `name`
};

class SessionBuilder {
 public:
  SessionBuilder(std::unique_ptr<session::Writer> writer, const std::string& source, const std::string& tool);

  session::Writer& out() { return *out_; }
  session::RunRow run;

  // lacks: what this kind of record does not hold. Closes the session.
  void finish(const std::string& lacks);
  void note(const std::string& severity, const std::string& text, const std::string& hint = {});

  Id file(const std::string& path);
  Id span(const std::string& path, int64_t line, const std::string& code = {});
  Id segment(const std::string& name, const std::string& path, int64_t line);  // of a frame of its own
  session::CompilationRow& compilation(Id segment, const std::string& label);
  session::CompilationRow* compilation_called(const std::string& label);
  // names: the compilation in which later graphs have these nodes; 0: the graph's own.
  Id graph(Id compilation, const std::string& stage, const std::string& pass, const FxGraph& graph,
           Id names = 0);
  void code(Id compilation, const OutputCode& code, const std::string& text);
  void stage(Id compilation, const char* name, int64_t count, double ns, const std::string& note = {});
  Id code_of(Id segment) const;

  // Slices of one lane, in any order; nested ones are put below each other.
  void lane(const std::string& side, const std::string& kind, const std::string& label,
            std::vector<ImportedSlice> slices);

  bool empty() const { return compilations_.empty() && lanes_ == 0; }

 private:
  std::unique_ptr<session::Writer> out_;
  std::string source_, tool_;
  std::map<std::string, Id> files_;
  std::map<std::string, std::map<int64_t, std::string>> lines_;  // of files, as far as they are known
  std::map<std::pair<Id, int64_t>, Id> spans_;
  std::map<Id, Id> code_of_segment_;
  std::map<Id, int64_t> snapshots_, kernels_, libraries_;  // by compilation
  std::map<std::string, Id> last_nodes_;    // by compilation and name: what a later graph's came from
  std::map<std::string, int64_t> stables_;  // the same node of every snapshot has one number
  std::map<std::pair<Id, std::string>, session::StageRow> stages_;
  std::vector<std::unique_ptr<session::CompilationRow>> compilations_;
  int64_t lanes_ = 0, messages_ = 0;
};

// One file or folder of each kind. Errors: it is none, or nothing of it can be read.
Status import_chrome_trace(const std::string& path, SessionBuilder& out);
Status import_torch_trace(const std::string& path, SessionBuilder& out);
Status import_compile_debug(const std::string& path, SessionBuilder& out);
Status import_nsys(const std::string& path, SessionBuilder& out);
Status import_package(const std::string& path, SessionBuilder& out);

// Whether it looks like one.
bool is_chrome_trace(const std::string& path);
bool is_torch_trace(const std::string& path);
bool is_compile_debug(const std::string& path);
bool is_nsys(const std::string& path);
bool is_package(const std::string& path);

}  // namespace vitrine::importing

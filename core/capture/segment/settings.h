// How a compiled callable was asked to be compiled, and the limits of the whole process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/autograd/joint.h"
#include "core/capture/objects/owned.h"
#include "core/capture/segment/hand_out.h"
#include "core/capture/trace/sizes.h"
#include "core/runtime/compile.h"

namespace vitrine::capture {

// What vitrine.compile was given, but for objects.
struct PlainSettings {
  bool fullgraph = false;
  bool replay = false;  // backend "eager": run the captured graph through PyTorch
  std::string mode = "default";
  bool fuse = true, verify = false, freezing = false;
  torch_api::GradientWishes gradients;
  std::string products = "measured";  // as runtime::CompileOptions
  std::string target;                 // as runtime::CompileOptions; every tensor is then taken to be on a GPU
  std::vector<std::string> disabled_passes;
  DynamicMode dynamic = DynamicMode::Automatic;
  int64_t recompile_limit = 0;  // of one place; 0 = the process's
  // Sizes and ints that depend on data are no reason to break; and: it is code of such a graph's pieces.
  bool stands_in = true, pieces = false;
  int64_t isolated = 0;  // number of the callable that shares its segments with no other; 0 = none

  // What max-autotune has taken for all that is compiled by these settings.
  std::shared_ptr<int64_t> tuning_ns = std::make_shared<int64_t>(0);

  bool tunes() const { return mode.starts_with("max-autotune"); }
  bool graphs() const { return mode == "reduce-overhead" || mode == "max-autotune"; }  // CUDA Graphs
  bool same_code_as(const PlainSettings& other) const {
    return replay == other.replay && fuse == other.fuse && verify == other.verify &&
           freezing == other.freezing && gradients == other.gradients && products == other.products &&
           target == other.target && graphs() == other.graphs() && tunes() == other.tunes() &&
           dynamic == other.dynamic && stands_in == other.stands_in && pieces == other.pieces &&
           isolated == other.isolated && disabled_passes == other.disabled_passes;
  }
};

// Segments are shared by callables whose settings differ in `fullgraph` at most.
struct CallSettings : PlainSettings {
  PyRef backend;   // the user's own backend, or nothing
  PyRef given;     // the dict that it was made of
  PyRef observer;  // a list that receives one dict a compilation (vitrine.explain), or nothing
  // By argument: dims that are symbols from the start; -1: of an int. Of code that another compiler captured.
  std::map<std::string, std::vector<int64_t>> symbols;
};

using CallSettingsPtr = std::shared_ptr<const CallSettings>;

// vitrine.config.
struct Config {
  int64_t recompile_limit = 8;                // compilations of one place
  int64_t accumulated_recompile_limit = 256;  // of one code object
  std::string cache_dir;                      // "" = none
  std::string nvrtc;                          // path of libnvrtc, "" = where the loader looks
  std::string nvdisasm;                       // path of nvdisasm, "" = none
  int64_t threads = 0;
  int64_t autotune_seconds = 120;
  std::shared_ptr<const codegen::EditedTexts> edited;  // kernels that a person has written anew; may be null
  std::shared_ptr<OptBisect> bisect;                   // what may be applied; null: all
  std::shared_ptr<const codegen::Faults> faults;       // for tests; may be null
  std::shared_ptr<const runtime::PlanObserver> observer;    // sees the first run of each plan; may be null
  std::shared_ptr<const pipeline::UserPasses> user_passes;  // may be null: none
  std::shared_ptr<const runtime::StageObserver> stages;     // sees the graph of each stage; may be null
  std::shared_ptr<const ProgramTaker> taker;  // is given each program that is compiled; may be null
  bool check = false;                         // compare every compiled graph with eager at each call
};

}  // namespace vitrine::capture

// Starts the engine's Python in place of this process, or a sibling program of the build.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace vitrine::cli {

// Where the programs and the Python package are: of a build folder, or of an installed package, which carries
// its programs in vitrine/bin.
struct InstalledPlaces {
  std::string bin;         // folder of this program
  std::string python;      // interpreter: VITRINE_PYTHON, else the environment's or the one of the build
  std::string package;     // folder that the package vitrine lies in
  bool installed = false;  // the interpreter finds the package by itself
};
InstalledPlaces places();

// Replaces this process by `python -m module args...`; returns only on failure.
Error exec_module(const InstalledPlaces& places, const std::string& module,
                  const std::vector<std::string>& args);
// The same for doctor.py by its path: it must run where the package cannot be imported.
Error exec_doctor(const InstalledPlaces& places, const std::vector<std::string>& args);
// How a child ended: its exit status, or the signal that killed it; and what it wrote to the descriptor that
// it was told of, "" if it never came to that.
struct Ended {
  int status = 0, signal = 0;
  std::string said;
  std::string written;  // the end of its outputs
};

// Runs it as a child and waits; --outcome=N, the descriptor, is put before args. An interrupt from the
// keyboard is the child's to answer, once it has unblocked it; a request to end is passed on to it.
Result<Ended> run_module(const InstalledPlaces& places, const std::string& module,
                         std::vector<std::string> args);
Error exec_program(const std::string& path, const std::vector<std::string>& args);

bool has_display();

}  // namespace vitrine::cli

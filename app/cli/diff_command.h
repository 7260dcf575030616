// `vitrine diff A B`: what differs between two sessions, or two compilations of one.
#pragma once

#include <string>
#include <vector>

namespace vitrine::cli {

struct DiffArguments {
  std::string before, after;              // after "": two compilations of `before`
  std::vector<std::string> compilations;  // labels: of both, or one of each
  std::string slower;                     // "5%": the limit; "" = none
  bool json = false, wide = false;
  size_t width = 0;
};

// Exit status: 0; 1 slower than the limit, or a session is at fault; 2 wrong arguments.
int diff_command(const DiffArguments& arguments);

}  // namespace vitrine::cli

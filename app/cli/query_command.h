// `vitrine query SESSION "select ..."`: SQL over the session's tables and views.
#pragma once

#include <string>

namespace vitrine::cli {

struct QueryArguments {
  std::string session, sql;  // sql "": the views and some examples are listed; "-": it is read from stdin
  bool json = false, csv = false;
  size_t limit = 100'000;
  double seconds = 60;
  size_t width = 0;  // columns of the terminal; 0: as wide as need be
};

// Exit status: 0; 1 the session is at fault; 2 the question is.
int query_command(const QueryArguments& arguments);

}  // namespace vitrine::cli

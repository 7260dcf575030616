#include "app/cli/merge_command.h"

#include "app/cli/run_command.h"
#include "core/session/abandoned.h"
#include "core/session/ranks/ranks.h"

namespace vitrine::cli {

int merge_command(const std::vector<std::string>& sessions, const std::string& output) {
  if (sessions.size() < 2)
    return fail(Error{"One session is no several ranks.", "vitrine merge run.r0.vitrine run.r1.vitrine", ""},
                2);
  for (const std::string& path : sessions) session::close_if_abandoned(path);
  auto ranks = session::read_ranks(sessions);
  if (!ranks) return fail(ranks.error());
  const std::string to = output.empty() ? session::merged_name(sessions.front()) : output;
  if (Status failed = session::write_merged(sessions, to)) return fail(*failed);
  print_text(ranks.value().text() + "\nwritten " + to + "; open it with: vitrine open " + to + "\n");
  return 0;
}

}  // namespace vitrine::cli

// The questions, each in the file of its name.
#pragma once

#include "bench/question.h"

namespace lockkeeper::bench {

void ask_one_client(const Setup& setup, Answer& answer);
void ask_four_processes(const Setup& setup, Answer& answer);
void ask_durable(const Setup& setup, Answer& answer);
void ask_million(const Setup& setup, Answer& answer);
void ask_ten_paths(const Setup& setup, Answer& answer);
void ask_foreign(const Setup& setup, Answer& answer);
void ask_globs(const Setup& setup, Answer& answer);
void ask_check(const Setup& setup, Answer& answer);
void ask_hook(const Setup& setup, Answer& answer);
void ask_hook_before(const Setup& setup, Answer& answer);
void ask_hook_after(const Setup& setup, Answer& answer);
void ask_hook_hub(const Setup& setup, Answer& answer);
void ask_git_commit(const Setup& setup, Answer& answer);
void ask_git_rebase(const Setup& setup, Answer& answer);
void ask_snapshot(const Setup& setup, Answer& answer);
void ask_reader_writer(const Setup& setup, Answer& answer);
void ask_two_processes(const Setup& setup, Answer& answer);
void ask_handoff(const Setup& setup, Answer& answer);
void ask_kill(const Setup& setup, Answer& answer);
void ask_queue(const Setup& setup, Answer& answer);
void ask_parts(const Setup& setup, Answer& answer);
void ask_memory(const Setup& setup, Answer& answer);
void ask_mcp(const Setup& setup, Answer& answer);
void ask_mcp_load(const Setup& setup, Answer& answer);
void ask_mcp_idle(const Setup& setup, Answer& answer);
void ask_hub(const Setup& setup, Answer& answer);
void ask_hub_load(const Setup& setup, Answer& answer);
void ask_hub_streams(const Setup& setup, Answer& answer);
void ask_etcd(const Setup& setup, Answer& answer);
void ask_etcd_load(const Setup& setup, Answer& answer);
void ask_plans(const Setup& setup, Answer& answer);

}  // namespace lockkeeper::bench

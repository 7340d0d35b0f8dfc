// Shows a crew at work: at a terminal a picture that is redrawn (cli/picture.h, as `top` does),
// otherwise one plain line per event, with --json one object per event.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/picture.h"
#include "crew/foreman.h"

namespace lockkeeper::cli {

class CrewView {
 public:
  // All must outlive it.
  CrewView(Output& out, const Clock& clock, std::string title)
      : out_(out), clock_(clock), title_(std::move(title)), picture_(out, Picture::Where::kBelow) {}
  ~CrewView() { clear(); }
  CrewView(const CrewView&) = delete;
  CrewView& operator=(const CrewView&) = delete;

  void watch(const crew::Foreman& foreman) { foreman_ = &foreman; }
  void show(const crew::CrewEvent& event);
  void redraw();
  // Removes the picture; the lines above it stay.
  void clear();

 private:
  bool is_drawn() const;
  void note_typed();
  Line headline(const crew::RunRecord& record, std::size_t columns) const;
  Line agent_line(const crew::AgentRecord& agent, std::size_t name_width) const;

  Output& out_;
  const Clock& clock_;
  const std::string title_;
  const crew::Foreman* foreman_ = nullptr;
  Picture picture_;
  bool drawn_ = false;
  std::int64_t drawn_ms_ = 0;
};

// Why the agent is not done: "exit status 3". Printed after its state.
std::string why_text(const crew::AgentRecord& agent);

// The last lines that a failed agent printed.
void show_tail(Output& out, const crew::AgentRecord& agent, const std::vector<std::string>& tail);

// The table at the end: one line per agent, with what went wrong.
void show_outcome(Output& out, const crew::RunRecord& record);

}  // namespace lockkeeper::cli

// The records of edits (edit.h, trace.h).
#include "core/encoding.h"
#include "core/record_parts.h"

namespace lockkeeper::core {

std::string encode_activity(const Owner& owner, const Activity& activity) {
  RecordWriter out;
  out.number(kFormat);
  write_owner(out, owner);
  out.number(activity.calls.size());
  for (const RunningCall& call : activity.calls) {
    out.text(call.id);
    out.text(call.worktree);
    out.signed_number(call.begun_mono_ms);
  }
  write_texts(out, activity.parts);
  out.number(activity.idle ? 1 : 0);
  out.signed_number(activity.turn_wall_ms);
  out.signed_number(activity.noted_mono_ms);
  out.number(activity.epoch);
  write_texts(out, activity.refused);
  write_texts(out, activity.told);
  write_texts(out, activity.also_in);
  out.number(activity.gone ? 1 : 0);
  if (activity.clock != 0) out.number(activity.clock);
  return out.take();
}

Result<std::pair<Owner, Activity>> decode_activity(std::string_view value) {
  RecordReader in(value);
  if (in.number() != kFormat) return damaged("record of calls");
  std::pair<Owner, Activity> read;
  read.first = read_owner(in);
  Activity& activity = read.second;
  const std::uint64_t calls = in.number();
  for (std::uint64_t i = 0; i < calls && !in.failed(); ++i) {
    RunningCall& call = activity.calls.emplace_back();
    call.id = in.text();
    call.worktree = in.text();
    call.begun_mono_ms = in.signed_number();
  }
  activity.parts = read_texts(in);
  activity.idle = in.number() != 0;
  activity.turn_wall_ms = in.signed_number();
  activity.noted_mono_ms = in.signed_number();
  activity.epoch = in.number();
  activity.refused = read_texts(in);
  activity.told = read_texts(in);
  activity.also_in = read_texts(in);
  if (in.at_end()) return read;  // written before the ends of sessions were kept
  activity.gone = in.number() != 0;
  if (!in.at_end()) activity.clock = in.number();
  if (!in.at_end()) return damaged("record of calls");
  return read;
}

std::string encode_trace(const Trace& trace) {
  RecordWriter out;
  out.number(kFormat);
  out.text(trace.worktree);
  out.text(trace.change.path);
  out.number(trace.change.mark.size);
  out.signed_number(trace.change.mark.modified_ns);
  out.signed_number(trace.change.mark.changed_ns);
  out.number(trace.change.mark.inode);
  out.text(trace.change.content);
  write_owner(out, trace.owner);
  out.signed_number(trace.at_wall_ms);
  out.signed_number(trace.at_mono_ms);
  out.number(trace.epoch);
  write_owners(out, trace.told);
  write_owners(out, trace.earlier);
  for (std::size_t i = 0; i < trace.earlier.size(); ++i) {
    out.text(i < trace.earlier_content.size() ? trace.earlier_content[i] : std::string());
  }
  out.number(trace.change.clean ? 1 : 0);
  if (trace.clock != 0) out.number(trace.clock);
  return out.take();
}

Result<Trace> decode_trace(std::string_view value) {
  RecordReader in(value);
  if (in.number() != kFormat) return damaged("trace");
  Trace trace;
  trace.worktree = in.text();
  trace.change.path = in.text();
  trace.change.mark.size = in.number();
  trace.change.mark.modified_ns = in.signed_number();
  trace.change.mark.changed_ns = in.signed_number();
  trace.change.mark.inode = in.number();
  trace.change.content = in.text();
  trace.owner = read_owner(in);
  trace.at_wall_ms = in.signed_number();
  trace.at_mono_ms = in.signed_number();
  trace.epoch = in.number();
  trace.told = read_owners(in);
  if (in.at_end()) return trace;  // written before earlier writers were kept
  trace.earlier = read_owners(in);
  trace.earlier_content.resize(trace.earlier.size());
  if (in.at_end()) return trace;  // written before their contents were kept
  for (std::string& content : trace.earlier_content) content = in.text();
  if (in.at_end()) return trace;  // written before clean files were kept
  trace.change.clean = in.number() != 0;
  if (!in.at_end()) trace.clock = in.number();
  if (!in.at_end()) return damaged("trace");
  return trace;
}

}  // namespace lockkeeper::core

#include "draw/timeline_svg.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace lockkeeper::draw {
namespace {

constexpr double kWidth = 1000;
constexpr double kMargin = 24;
constexpr double kRight = 36;  // half of the last tick's label may stick out
constexpr double kTitleSize = 18;
constexpr double kSubtitleSize = 13;
constexpr double kNameSize = 13;
constexpr double kLabelSize = 11;
constexpr double kNameWidthMax = 230;
constexpr double kNameGap = 14;
constexpr double kAxisHeight = 26;
constexpr double kLabelPad = 8;
constexpr double kMarkRadius = 5.5;
constexpr double kBarWidthMin = 2;
constexpr std::size_t kAxisBelowFrom = 20;  // rows: a long picture has its axis twice

// Bars show their meaning twice: by colour, and by hatching and a mark.
constexpr std::string_view kStyle = R"svg(<style>
.lk-timeline{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",
"Noto Sans","DejaVu Sans",sans-serif}
.lk-timeline .page{fill:#ffffff;stroke:#d7dde5}
.lk-timeline .stripe{fill:#f5f7fa}
.lk-timeline .grid{stroke:#e3e8ee}
.lk-timeline .axis{stroke:#9aa6b5}
.lk-timeline .title{fill:#17202b;font-size:18px;font-weight:600}
.lk-timeline .subtitle{fill:#566373;font-size:13px}
.lk-timeline .name{fill:#17202b;font-size:13px}
.lk-timeline .small{fill:#566373;font-size:11px}
.lk-timeline .in{fill:#ffffff;font-size:11px;font-weight:500}
.lk-timeline .work{fill:#2f6fd6}
.lk-timeline .critical{fill:#b4560a}
.lk-timeline .waiting{fill:#b3bfce}
.lk-timeline .failed{fill:#c0273a}
.lk-timeline .stopped{fill:#66717f}
.lk-timeline .hatch{stroke:#ffffff;stroke-opacity:.3;stroke-width:3}
.lk-timeline .mark{fill:#ffffff;stroke:#17202b;stroke-width:1.2}
.lk-timeline .sign{fill:none;stroke:#17202b;stroke-width:1.6;stroke-linecap:round}
.lk-timeline .block{fill:#17202b}
.lk-timeline .edge{fill:#17202b;fill-opacity:.55}
@media (prefers-color-scheme:dark){
.lk-timeline .page{fill:#12171e;stroke:#2c3642}
.lk-timeline .stripe{fill:#181f28}
.lk-timeline .grid{stroke:#27303b}
.lk-timeline .axis{stroke:#5c6878}
.lk-timeline .title,.lk-timeline .name{fill:#e8edf3}
.lk-timeline .subtitle,.lk-timeline .small{fill:#9eabba}
.lk-timeline .in{fill:#0b1017}
.lk-timeline .work{fill:#6fa8ff}
.lk-timeline .critical{fill:#f5a35c}
.lk-timeline .waiting{fill:#4a5665}
.lk-timeline .failed{fill:#ff7b86}
.lk-timeline .stopped{fill:#9aa6b5}
.lk-timeline .hatch{stroke:#0b1017;stroke-opacity:.25}
.lk-timeline .edge{fill:#ffffff;fill-opacity:.7}
}
</style>
<defs>
<pattern id="lk-hatch-failed" width="8" height="8" patternUnits="userSpaceOnUse"
 patternTransform="rotate(45)"><path class="hatch" d="M0 0V8"/></pattern>
<pattern id="lk-hatch-stopped" width="6" height="6" patternUnits="userSpaceOnUse"><path
 class="hatch" d="M0 0V6"/></pattern>
</defs>
)svg";

struct KindLook {
  Bar::Kind kind;
  const char* name;   // the CSS class
  const char* label;  // in the legend
};
constexpr std::array<KindLook, 5> kLooks = {{{Bar::Kind::kWork, "work", "at work"},
                                             {Bar::Kind::kCritical, "critical", "critical path"},
                                             {Bar::Kind::kWaiting, "waiting", "waiting"},
                                             {Bar::Kind::kFailed, "failed", "failed"},
                                             {Bar::Kind::kStopped, "stopped", "stopped"}}};

// Shown by hatching and a mark, too.
bool is_marked(Bar::Kind kind) {
  return kind == Bar::Kind::kFailed || kind == Bar::Kind::kStopped;
}

const KindLook& look_of(Bar::Kind kind) {
  return *std::ranges::find(kLooks, kind, &KindLook::kind);
}

std::string place(double x, double y) {
  return " x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\"";
}

std::string line(const char* css, double x1, double y1, double x2, double y2) {
  return "<path class=\"" + std::string(css) + "\" d=\"M" + svg_number(x1) + " " + svg_number(y1) +
         "L" + svg_number(x2) + " " + svg_number(y2) + "\"/>\n";
}

// `anchor`: "start", "middle", "end". `whole`: the tooltip if the text was cut.
std::string text_at(const char* css, double x, double y, const char* anchor, std::string_view text,
                    std::string_view whole = {}) {
  std::string out = "<text class=\"" + std::string(css) + "\"" + place(x, y);
  if (std::string_view(anchor) != "start") out += " text-anchor=\"" + std::string(anchor) + "\"";
  out += ">" + xml_escape(text);
  if (!whole.empty() && whole != text) out += "<title>" + xml_escape(whole) + "</title>";
  return out + "</text>\n";
}

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kSpanMax = 1'000'000 * kDay;
constexpr std::array<std::int64_t, 9> kStepsMs = {1, 2, 5, 10, 20, 50, 100, 200, 500};
constexpr std::array<std::int64_t, 6> kStepsOfSixty = {1, 2, 5, 10, 15, 30};  // seconds, minutes
constexpr std::array<std::int64_t, 5> kStepsHours = {1, 2, 3, 6, 12};
constexpr std::array<std::int64_t, 4> kStepsDays = {1, 2, 7, 28};

// The smallest step with at most so many ticks.
std::int64_t tick_step(std::int64_t span, std::int64_t ticks) {
  const std::pair<std::int64_t, std::span<const std::int64_t>> units[] = {{1, kStepsMs},
                                                                          {kSecond, kStepsOfSixty},
                                                                          {kMinute, kStepsOfSixty},
                                                                          {kHour, kStepsHours},
                                                                          {kDay, kStepsDays}};
  for (const auto& [unit, steps] : units) {
    for (const std::int64_t step : steps) {
      if (span / (step * unit) <= ticks) return step * unit;
    }
  }
  std::int64_t step = kStepsDays.back() * kDay;
  while (span / step > ticks) step *= 2;
  return step;
}

std::string two_units(std::int64_t large, const char* large_unit, std::int64_t small,
                      const char* small_unit) {
  std::string out;
  if (large > 0) out = std::to_string(large) + large_unit;
  if (small > 0) out += (out.empty() ? "" : " ") + std::to_string(small) + small_unit;
  return out;
}

// In the units of the step.
std::string tick_label(std::int64_t at, std::int64_t step) {
  if (at == 0) return "0";
  if (step < kSecond / 10) return std::to_string(at) + " ms";
  if (step < kSecond) return svg_number(static_cast<double>(at) / kSecond) + "s";
  if (step < kMinute && at < kHour)
    return two_units(at / kMinute, "m", at % kMinute / kSecond, "s");
  if (at < kDay) return two_units(at / kHour, "h", at % kHour / kMinute, "m");
  return two_units(at / kDay, "d", at % kDay / kHour, "h");
}

class Painter {
 public:
  explicit Painter(const TimelinePicture& picture) : picture_(picture) {
    rows_ = std::min(picture.rows.size(), kRowsDrawn);
    for (const Bar& bar : picture.bars) {
      if (bar.row >= rows_) continue;
      drawn_.push_back(&bar);
      span_ = std::max({span_, bar.end_ms, bar.begin_ms});
    }
    span_ = span_ <= 0 ? kSecond : std::min(span_, kSpanMax);
    measure();
  }

  std::string paint() {
    out_ = svg_begin("lk-timeline", kWidth, height_, picture_.title);
    out_ += kStyle;
    out_ += svg_rectangle("page", {0.5, 0.5, kWidth - 1, height_ - 1}, 8) + "\n";
    paint_head();
    paint_stripes();
    paint_grid();
    paint_names();
    paint_bars();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  void measure() {
    row_height_ = rows_ <= 40 ? 30 : rows_ <= 120 ? 24 : 20;
    double names = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      names = std::max(names, text_width(picture_line(picture_.rows[row]), kNameSize));
    }
    name_width_ = std::min(names, kNameWidthMax);
    left_ = kMargin + name_width_ + (rows_ == 0 ? 0 : kNameGap);
    scale_ = (kWidth - kRight - left_) / static_cast<double>(span_);
    double y = kMargin;
    title_y_ = y + kTitleSize - 4;
    y += kTitleSize + 8;
    if (!picture_.subtitle.empty()) {
      subtitle_y_ = y + kSubtitleSize - 3;
      y += kSubtitleSize + 10;
    }
    legend_y_ = y;
    if (!drawn_.empty()) y += 24;
    top_ = y + kAxisHeight;
    bottom_ = top_ + row_height_ * static_cast<double>(rows_);
    height_ = bottom_ + kMargin;
    if (rows_ == 0) height_ = top_ + 16;
    if (rows_ >= kAxisBelowFrom) height_ += kAxisHeight - 10;
    if (rows_ < picture_.rows.size()) height_ += 24;
  }

  double x_of(std::int64_t ms) const {
    return left_ + static_cast<double>(std::clamp<std::int64_t>(ms, 0, span_)) * scale_;
  }
  double row_y(std::size_t row) const { return top_ + row_height_ * static_cast<double>(row); }
  Box box_of(const Bar& bar) const;

  void paint_head();
  void paint_legend(double x, double y, const KindLook& look);
  void paint_stripes();
  void paint_grid();
  void paint_names();
  void paint_bars();
  void paint_shape(const Bar& bar, const Box& box);
  void paint_label(const Bar& bar, double free_until);
  void paint_mark(Bar::Kind kind, double x, double y);

  const TimelinePicture& picture_;
  std::vector<const Bar*> drawn_;
  std::size_t rows_ = 0;
  std::int64_t span_ = 0;
  double row_height_ = 0;
  double name_width_ = 0;
  double left_ = 0;  // of time 0
  double scale_ = 0;
  double title_y_ = 0;
  double subtitle_y_ = 0;
  double legend_y_ = 0;
  double top_ = 0;  // of the first row
  double bottom_ = 0;
  double height_ = 0;
  std::string out_;
};

Box Painter::box_of(const Bar& bar) const {
  const bool thin = bar.kind == Bar::Kind::kWaiting;
  const double height = thin ? 5 : row_height_ - (row_height_ < 24 ? 5 : 8);
  const double begin = x_of(bar.begin_ms);
  const double width = std::max(x_of(std::max(bar.begin_ms, bar.end_ms)) - begin, kBarWidthMin);
  const double x = std::min(begin, kWidth - kRight - width);
  return {x, row_y(bar.row) + (row_height_ - height) / 2, width, height};
}

void Painter::paint_head() {
  const double room = kWidth - 2 * kMargin;
  out_ += text_at("title", kMargin, title_y_, "start", fit_text(picture_.title, kTitleSize, room),
                  picture_.title);
  if (!picture_.subtitle.empty()) {
    out_ += text_at("subtitle", kMargin, subtitle_y_, "start",
                    fit_text(picture_.subtitle, kSubtitleSize, room), picture_.subtitle);
  }
  double x = kMargin;
  for (const KindLook& look : kLooks) {
    if (std::ranges::none_of(drawn_, [&](const Bar* bar) { return bar->kind == look.kind; })) {
      continue;
    }
    paint_legend(x, legend_y_, look);
    x += 34 + text_width(look.label, kLabelSize) + 18;
  }
}

void Painter::paint_legend(double x, double y, const KindLook& look) {
  Bar sample;
  sample.kind = look.kind;
  const bool thin = look.kind == Bar::Kind::kWaiting;
  const Box box = thin ? Box{x, y + 4.5, 28, 5} : Box{x, y, 28, 14};
  paint_shape(sample, box);
  paint_mark(look.kind, x + 20, y + 7);
  out_ += text_at("small", x + 34, y + 11, "start", look.label);
}

void Painter::paint_stripes() {
  for (std::size_t row = 0; row < rows_; row += 2) {
    out_ += svg_rectangle("stripe",
                          {kMargin - 10, row_y(row), kWidth - 2 * kMargin + 20, row_height_}, 4) +
            "\n";
  }
}

void Painter::paint_grid() {
  if (rows_ == 0) {
    out_ += text_at("subtitle", kMargin, top_ - 8, "start", "Nothing to show.");
    return;
  }
  constexpr std::int64_t kTicks = 10;
  const std::int64_t step = tick_step(span_, kTicks);
  for (std::int64_t at = 0, tick = 0; tick <= span_ / step; ++tick, at = tick * step) {
    const double x = x_of(at);
    out_ += line(at == 0 ? "axis" : "grid", x, top_ - 4, x, bottom_ + 4);
    out_ += text_at("small", x, top_ - 10, "middle", tick_label(at, step));
    if (rows_ >= kAxisBelowFrom) {
      out_ += text_at("small", x, bottom_ + 17, "middle", tick_label(at, step));
    }
  }
}

void Painter::paint_names() {
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::string& name = picture_.rows[row];
    out_ += text_at("name", kMargin, row_y(row) + row_height_ / 2 + 4.5, "start",
                    fit_text(name, kNameSize, name_width_), name);
  }
  if (rows_ < picture_.rows.size()) {
    out_ += text_at("subtitle", kMargin, height_ - 16, "start",
                    "and " + std::to_string(picture_.rows.size() - rows_) + " more, not drawn");
  }
}

void Painter::paint_bars() {
  std::ranges::stable_sort(drawn_, [](const Bar* a, const Bar* b) {
    return std::pair(a->row, a->begin_ms) < std::pair(b->row, b->begin_ms);
  });
  for (const Bar* bar : drawn_) paint_shape(*bar, box_of(*bar));
  for (std::size_t i = 0; i < drawn_.size(); ++i) {
    const Bar& bar = *drawn_[i];
    const bool last = i + 1 == drawn_.size() || drawn_[i + 1]->row != bar.row;
    paint_label(bar, last ? kWidth - kMargin : box_of(*drawn_[i + 1]).x);
  }
}

void Painter::paint_shape(const Bar& bar, const Box& box) {
  const double radius = std::min({4.0, box.width / 2, box.height / 2});
  out_ += "<g>";
  if (!bar.hover.empty()) out_ += "<title>" + xml_escape(bar.hover) + "</title>";
  out_ += svg_rectangle(look_of(bar.kind).name, box, radius);
  if (is_marked(bar.kind)) {
    out_ += "<rect fill=\"url(#lk-hatch-" + std::string(look_of(bar.kind).name) + ")\"" +
            place(box.x, box.y) + " width=\"" + svg_number(box.width) + "\" height=\"" +
            svg_number(box.height) + "\" rx=\"" + svg_number(radius) + "\"/>";
  }
  if (bar.kind == Bar::Kind::kCritical && box.width > 2 * radius + 1) {
    out_ += svg_rectangle("edge",
                          {box.x + radius, box.y + box.height - 2.5, box.width - 2 * radius, 2.5});
  }
  out_ += "</g>\n";
}

void Painter::paint_label(const Bar& bar, double free_until) {
  const Box box = box_of(bar);
  const double baseline = box.y + box.height / 2 + 4;
  const bool marked = is_marked(bar.kind);
  const double mark_room = marked ? 2 * kMarkRadius + 4 : 0;
  double end = box.x + box.width;
  if (marked) {
    const bool inside = box.width >= mark_room + 2;
    const double x = inside ? end - kMarkRadius - 3 : box.x + box.width / 2;
    paint_mark(bar.kind, x, box.y + box.height / 2);
    end = std::max(end, x + kMarkRadius);
  }
  if (bar.label.empty() || bar.kind == Bar::Kind::kWaiting) return;
  const std::string label = picture_line(bar.label);
  const double width = text_width(label, kLabelSize);
  if (width + 2 * kLabelPad + mark_room <= box.width) {
    out_ += text_at("in", box.x + kLabelPad, baseline, "start", label, bar.hover);
  } else if (end + width + 2 * kLabelPad <= free_until) {
    out_ += text_at("small", end + kLabelPad, baseline, "start", label, bar.hover);
  }
}

// A cross for failed, a block for stopped: visible without colours.
void Painter::paint_mark(Bar::Kind kind, double x, double y) {
  if (!is_marked(kind)) return;
  out_ += "<circle class=\"mark\" cx=\"" + svg_number(x) + "\" cy=\"" + svg_number(y) + "\" r=\"" +
          svg_number(kMarkRadius) + "\"/>";
  if (kind == Bar::Kind::kStopped) {
    out_ += svg_rectangle("block", {x - 2, y - 2, 4, 4}) + "\n";
    return;
  }
  const auto stroke = [&](double dy) {
    return "M" + svg_number(x - 2) + " " + svg_number(y - dy) + "L" + svg_number(x + 2) + " " +
           svg_number(y + dy);
  };
  out_ += "<path class=\"sign\" d=\"" + stroke(2) + stroke(-2) + "\"/>\n";
}

}  // namespace

std::string timeline_svg(const TimelinePicture& picture) {
  return Painter(picture).paint();
}

}  // namespace lockkeeper::draw

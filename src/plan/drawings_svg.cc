// The graph of a plan as SVG, layered by rounds, so that arrows always point to the right.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/clock.h"
#include "base/text.h"
#include "plan/drawings.h"

namespace lockkeeper::plan {
namespace {

constexpr double kMargin = 24;
constexpr double kBoxHeight = 46;
constexpr double kBoxWidthMin = 110;
constexpr double kBoxWidthMax = 230;
constexpr double kRowGap = 22;
constexpr double kColumnGap = 110;
constexpr double kTitleSize = 18;
constexpr double kNameSize = 13;
constexpr double kSmallSize = 11;
constexpr double kHead = 92;         // title, subtitle, legend, round names
constexpr std::size_t kListed = 24;  // conflicts in the list below

constexpr std::string_view kStyle = R"svg(<style>
.lk-graph{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",
"Noto Sans","DejaVu Sans",sans-serif}
.lk-graph .page{fill:#ffffff;stroke:#d7dde5}
.lk-graph .round{fill:#f5f7fa}
.lk-graph .box{fill:#ffffff;stroke:#9aa6b5;stroke-width:1.2}
.lk-graph .critical{fill:#fff4e8;stroke:#b4560a;stroke-width:2}
.lk-graph .title{fill:#17202b;font-size:18px;font-weight:600}
.lk-graph .subtitle{fill:#566373;font-size:13px}
.lk-graph .name{fill:#17202b;font-size:13px;font-weight:500}
.lk-graph .small{fill:#566373;font-size:11px}
.lk-graph .arrow{fill:none;stroke:#6b7889;stroke-width:1.4}
.lk-graph .head{fill:#6b7889}
.lk-graph .locks{fill:none;stroke:#c0273a;stroke-width:1.8;stroke-dasharray:6 4}
.lk-graph .scopes{fill:none;stroke:#b4860a;stroke-width:1.6;stroke-dasharray:2 4}
.lk-graph .dot{fill:#ffffff;stroke:#c0273a;stroke-width:1.4}
.lk-graph .number{fill:#17202b;font-size:10px;font-weight:600}
@media (prefers-color-scheme:dark){
.lk-graph .page{fill:#12171e;stroke:#2c3642}
.lk-graph .round{fill:#181f28}
.lk-graph .box{fill:#1f2833;stroke:#5c6878}
.lk-graph .critical{fill:#33261a;stroke:#f5a35c}
.lk-graph .title,.lk-graph .name,.lk-graph .number{fill:#e8edf3}
.lk-graph .subtitle,.lk-graph .small{fill:#9eabba}
.lk-graph .arrow{stroke:#8794a5}
.lk-graph .head{fill:#8794a5}
.lk-graph .locks{stroke:#ff7b86}
.lk-graph .scopes{stroke:#e0b04a}
.lk-graph .dot{fill:#12171e;stroke:#ff7b86}
}
</style>
<defs><marker id="lk-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
 orient="auto"><path class="head" d="M0 0.5L8 4L0 7.5Z"/></marker></defs>
)svg";

std::string number(double value) {
  return draw::svg_number(value);
}

std::string text(const char* css, double x, double y, const std::string& words,
                 const char* anchor = "start") {
  return "<text class=\"" + std::string(css) + "\" x=\"" + number(x) + "\" y=\"" + number(y) +
         "\" text-anchor=\"" + anchor + "\">" + draw::xml_escape(words) + "</text>\n";
}

std::string rectangle(std::string_view css, const draw::Box& box, double radius) {
  return draw::svg_rectangle(css, box, radius) + "\n";
}

struct Point {
  double x = 0, y = 0;
};

struct Box {
  bool drawn = false;
  double x = 0, y = 0, width = 0;
  std::size_t column = 0;
  double right() const { return x + width; }
  double middle() const { return y + kBoxHeight / 2; }
};

class Painter {
 public:
  Painter(const Plan& plan, const Analysis& analysis, const std::string& title)
      : plan_(plan), analysis_(analysis), title_(title), boxes_(plan.jobs.size()) {
    order_columns();
    measure();
  }

  std::string paint() {
    out_ = draw::svg_begin("lk-graph", width_, height_, title_);
    out_ += kStyle;
    out_ += rectangle("page", {0.5, 0.5, width_ - 1, height_ - 1}, 8);
    paint_head();
    paint_rounds();
    paint_arrows();
    paint_conflicts();
    paint_boxes();
    paint_dots();
    paint_list();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  // Each job near the jobs it needs: at the mean of their heights, column by column.
  void order_columns() {
    std::size_t left = kJobsDrawn;
    std::vector<double> height(plan_.jobs.size(), 0);
    for (const std::vector<std::size_t>& round : analysis_.waves.rounds) {
      std::vector<std::size_t> column;
      for (const std::size_t job : round) {
        if (left == 0) break;
        --left;
        column.push_back(job);
        double sum = 0;
        for (const std::size_t need : plan_.jobs[job].needs) sum += height[need];
        const std::size_t count = plan_.jobs[job].needs.size();
        height[job] = count == 0 ? 0 : sum / static_cast<double>(count);
      }
      std::ranges::stable_sort(column, {}, [&](std::size_t job) { return height[job]; });
      const double first = -static_cast<double>(column.size()) / 2;
      for (std::size_t i = 0; i < column.size(); ++i) {
        height[column[i]] = first + static_cast<double>(i);
      }
      if (!column.empty()) columns_.push_back(std::move(column));
    }
  }

  std::string about(const Job& job) const {
    return format_duration(job.minutes * kMinuteMs) + ", " + counted(job.locks.size(), "lock");
  }

  void measure() {
    double tallest = 0;
    for (const auto& column : columns_) {
      tallest = std::max(tallest, static_cast<double>(column.size()) * (kBoxHeight + kRowGap));
    }
    double x = kMargin + 12;
    for (const auto& column : columns_) {
      double width = kBoxWidthMin;
      for (const std::size_t job : column) {
        const double name = draw::text_width(draw::picture_line(plan_.jobs[job].id), kNameSize);
        width =
            std::max({width, name + 24, draw::text_width(about(plan_.jobs[job]), kSmallSize) + 24});
      }
      width = std::min(width, kBoxWidthMax);
      const double own = static_cast<double>(column.size()) * (kBoxHeight + kRowGap);
      double y = kHead + 24 + (tallest - own) / 2;
      for (const std::size_t job : column) {
        boxes_[job] = {true, x, y, width, widths_.size()};
        y += kBoxHeight + kRowGap;
      }
      widths_.push_back(width);
      x += width + kColumnGap;
    }
    bottom_ = kHead + 24 + tallest;
    width_ = std::max(x - kColumnGap + kMargin + 12, 560.0);
    drawn_ = std::min({analysis_.conflicts.listed.size(), kLinesDrawn});
    const std::size_t listed = std::min(drawn_, kListed);
    height_ = bottom_ + kMargin + (listed == 0 ? 0 : 26 + 18 * static_cast<double>(listed));
    if (analysis_.conflicts.pairs > listed) height_ += 18;
    if (plan_.jobs.size() > kJobsDrawn) height_ += 18;
  }

  void paint_head() {
    const double room = width_ - 2 * kMargin;
    out_ += text("title", kMargin, kMargin + 14, draw::fit_text(title_, kTitleSize, room));
    const std::string about = std::to_string(plan_.jobs.size()) + " jobs in " +
                              std::to_string(analysis_.waves.rounds.size()) + " rounds, " +
                              counted(analysis_.conflicts.pairs, "conflict");
    out_ += text("subtitle", kMargin, kMargin + 36, draw::fit_text(about, 13, room));
    double x = kMargin;
    const auto sample = [&](const char* css, const char* words) {
      const double y = kMargin + 54;
      out_ +=
          "<path class=\"" + std::string(css) + "\" d=\"M" + number(x) + " " + number(y) + "h28\"";
      if (std::string_view(css) == "arrow") out_ += " marker-end=\"url(#lk-arrow)\"";
      out_ += "/>\n" + text("small", x + 34, y + 4, words);
      x += 34 + draw::text_width(words, kSmallSize) + 18;
    };
    sample("arrow", "needs");
    const ConflictGraph& conflicts = analysis_.conflicts;
    if (conflicts.by_locks > 0) sample("locks", "both lock");
    if (conflicts.pairs > conflicts.by_locks) sample("scopes", "both may write");
    out_ += rectangle("critical", {x, kMargin + 48, 28, 12}, 4);
    out_ += text("small", x + 34, kMargin + 58, "critical path");
  }

  void paint_rounds() {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const double x = boxes_[columns_[i].front()].x;
      out_ += rectangle("round", {x - 12, kHead, widths_[i] + 24, bottom_ - kHead + 4}, 8);
      out_ += text("small", x, kHead + 16, "Round " + std::to_string(i + 1));
    }
  }

  static std::string curve(double x1, double y1, double x2, double y2) {
    const double bend = std::max(30.0, (x2 - x1) / 2);
    return "M" + number(x1) + " " + number(y1) + "C" + number(x1 + bend) + " " + number(y1) + " " +
           number(x2 - bend) + " " + number(y2) + " " + number(x2) + " " + number(y2);
  }

  // The middle of the gap in a column nearest to `y`, shifted a little for each line already there.
  double lane(std::size_t column, double y) {
    double best = boxes_[columns_[column].front()].y - kRowGap / 2;
    for (const std::size_t job : columns_[column]) {
      const double gap = boxes_[job].y + kBoxHeight + kRowGap / 2;
      if (std::abs(gap - y) < std::abs(best - y)) best = gap;
    }
    const std::size_t used = lanes_[{column, best}]++ % 5;
    const std::size_t lane = (used + 1) / 2;
    const double aside = 3.5 * static_cast<double>(lane);
    return best + (used % 2 == 0 ? aside : -aside);
  }

  // From the right of one box to the left of another, around the boxes between them.
  std::vector<Point> route(const Box& from, const Box& to, double lower) {
    std::vector<Point> points = {{from.right(), from.middle() + lower}};
    for (std::size_t column = from.column + 1; column < to.column; ++column) {
      const double x = boxes_[columns_[column].front()].x;
      const double left = static_cast<double>(to.column - column);
      const double y = points.back().y + (to.middle() - points.back().y) / (left + 1);
      const double through = lane(column, y);
      points.push_back({x - 6, through});
      points.push_back({x + widths_[column] + 6, through});
    }
    points.push_back({to.x, to.middle() + lower});
    return points;
  }

  static std::string path(const std::vector<Point>& points) {
    std::string out;
    for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
      const std::string part = curve(points[i].x, points[i].y, points[i + 1].x, points[i + 1].y);
      out += i == 0 ? part : "L" + part.substr(1);
    }
    return out;
  }

  void paint_arrows() {
    std::size_t count = 0;
    for (const Dependency& each : analysis_.dependencies) {
      const Box& from = boxes_[each.earlier];
      const Box& to = boxes_[each.later];
      if (!from.drawn || !to.drawn || ++count > 4 * kLinesDrawn) continue;
      std::vector<Point> points = route(from, to, 0);
      points.back().x -= 2;
      out_ +=
          "<path class=\"arrow\" marker-end=\"url(#lk-arrow)\" d=\"" + path(points) + "\"><title>" +
          draw::xml_escape(plan_.jobs[each.later].id + " needs " + plan_.jobs[each.earlier].id) +
          "</title></path>\n";
    }
  }

  // The two ends of a conflict, the left one first; they are never in one round.
  std::pair<const Box*, const Box*> ends(const Conflict& conflict) const {
    const Box* a = &boxes_[conflict.a];
    const Box* b = &boxes_[conflict.b];
    if (a->x > b->x) std::swap(a, b);
    return {a, b};
  }

  void paint_conflicts() {
    first_.resize(drawn_);
    for (std::size_t i = 0; i < drawn_; ++i) {
      const Conflict& each = analysis_.conflicts.listed[i];
      const auto [from, to] = ends(each);
      if (!from->drawn || !to->drawn) continue;
      // A little lower than the arrows, so that both can be seen.
      const std::vector<Point> points = route(*from, *to, 10);
      first_[i] = points[1];
      out_ += "<path class=\"" + std::string(each.cause == Cause::kLocks ? "locks" : "scopes") +
              "\" d=\"" + path(points) + "\"><title>" + draw::xml_escape(in_words(i)) +
              "</title></path>\n";
    }
  }

  void paint_boxes() {
    std::vector<bool> critical(plan_.jobs.size(), false);
    for (const std::size_t job : analysis_.critical) critical[job] = true;
    for (const auto& column : columns_) {
      for (const std::size_t job : column) {
        const Box& box = boxes_[job];
        const Job& each = plan_.jobs[job];
        out_ += "<g><title>" + draw::xml_escape(each.id + ": " + each.description) + "</title>\n";
        out_ +=
            rectangle(critical[job] ? "critical" : "box", {box.x, box.y, box.width, kBoxHeight}, 8);
        out_ += text("name", box.x + 12, box.y + 19,
                     draw::fit_text(each.id, kNameSize, box.width - 24));
        out_ += text("small", box.x + 12, box.y + 36,
                     draw::fit_text(about(each), kSmallSize, box.width - 24));
        out_ += "</g>\n";
      }
    }
  }

  // The conflict's number where its line leaves the left box, one below the other.
  void paint_dots() {
    std::vector<std::size_t> used(plan_.jobs.size(), 0);
    for (std::size_t i = 0; i < drawn_ && i < kListed; ++i) {
      const Conflict& each = analysis_.conflicts.listed[i];
      const auto [from, to] = ends(each);
      if (!from->drawn || !to->drawn) continue;
      const std::size_t at = from == &boxes_[each.a] ? each.a : each.b;
      const double x = from->right() + 14 + 19 * static_cast<double>(used[at]++ % 4);
      const double along = std::min(1.0, (x - from->right()) / (first_[i].x - from->right()));
      // Approximates the curve's height at that x.
      const double ease = along * along * (3 - 2 * along);
      const double begin = from->middle() + 10;
      const double y = begin + (first_[i].y - begin) * ease;
      out_ += "<circle class=\"dot\" cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"8\"/>\n";
      out_ += text("number", x, y + 3.5, std::to_string(i + 1), "middle");
    }
  }

  std::string in_words(std::size_t index) const {
    const Conflict& each = analysis_.conflicts.listed[index];
    return plan_.jobs[each.a].id + " × " + plan_.jobs[each.b].id + ": " +
           (each.cause == Cause::kLocks ? "both lock " : "both may write ") +
           each.shared.front().witness;
  }

  void paint_list() {
    double y = bottom_ + kMargin + 14;
    const double room = width_ - 2 * kMargin;
    const std::size_t listed = std::min(drawn_, kListed);
    for (std::size_t i = 0; i < listed; ++i, y += 18) {
      const std::string words = std::to_string(i + 1) + ". " + in_words(i);
      out_ += text("small", kMargin, y, draw::fit_text(words, kSmallSize, room));
    }
    const auto count_rest = [&](std::size_t all, std::size_t shown, const char* what) {
      if (all <= shown) return;
      out_ += text("small", kMargin, y, "and " + std::to_string(all - shown) + " more " + what);
      y += 18;
    };
    count_rest(analysis_.conflicts.pairs, listed, "conflicts");
    count_rest(plan_.jobs.size(), kJobsDrawn, "jobs");
  }

  const Plan& plan_;
  const Analysis& analysis_;
  const std::string& title_;
  std::vector<std::vector<std::size_t>> columns_;
  std::vector<double> widths_;
  std::vector<Box> boxes_;
  std::size_t drawn_ = 0;  // conflicts
  double width_ = 0, height_ = 0, bottom_ = 0;
  std::map<std::pair<std::size_t, double>, std::size_t> lanes_;  // lines by column and height
  std::vector<Point> first_;  // of each conflict: where its line's first part ends
  std::string out_;
};

}  // namespace

std::string graph_svg(const Plan& plan, const Analysis& analysis, const std::string& title) {
  return Painter(plan, analysis, title).paint();
}

}  // namespace lockkeeper::plan

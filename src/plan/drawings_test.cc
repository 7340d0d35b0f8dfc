#include "plan/drawings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "draw/xml_testing.h"

namespace lockkeeper::plan {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Drawn {
  Plan plan;
  Analysis analysis;
};

Drawn analysed(const std::string& text) {
  Loaded loaded = load_plan(text, {});
  EXPECT_TRUE(loaded.usable());
  Drawn all{std::move(loaded.plan), {}};
  all.analysis = *analyse(all.plan, {});
  return all;
}

constexpr const char* kHostile = R"([
  {"agent":"a<b>&\"'`#;%%{x}","files":["x","<script>"],"minutes":90},
  {"agent":"end","files":["x"]},
  {"agent":"--> j0","files":["y"],"after":"end"}])";

TEST(Mermaid, RoundsArrowsAndConflicts) {
  const Drawn all =
      analysed(R"([{"agent":"one","files":["x"],"minutes":90},{"agent":"two","files":["x"]},
                            {"agent":"three","files":["z"],"after":"one"}])");
  EXPECT_EQ(mermaid(all.plan, all.analysis),
            "flowchart LR\n"
            "  subgraph r1 [\"Round 1\"]\n"
            "    j0[\"one<br/>1h 30m\"]\n"
            "  end\n"
            "  subgraph r2 [\"Round 2\"]\n"
            "    j1[\"two<br/>1h\"]\n"
            "    j2[\"three<br/>1h\"]\n"
            "  end\n"
            "  j0 --> j2\n"
            "  j0 -. \"x\" .- j1\n"
            "  linkStyle 1 stroke:#c0273a\n"
            "  classDef critical stroke:#b4560a,stroke-width:3px\n"
            "  class j0,j2 critical\n");
}

TEST(Mermaid, NamesAreNoMarkup) {
  const Drawn all = analysed(kHostile);
  const std::string text = mermaid(all.plan, all.analysis);
  EXPECT_THAT(text, HasSubstr("a#60;b#62;#38;#34;#39;#96;#35;#59;#37;#37;#123;x#125;"));
  EXPECT_THAT(text, Not(HasSubstr("%%")));
}

TEST(GraphSvg, IsXmlWhateverTheNames) {
  const Drawn all = analysed(kHostile);
  const std::string svg = graph_svg(all.plan, all.analysis, "<title> & \"more\"");
  EXPECT_EQ(draw::XmlReader(svg).error(), "");
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, HasSubstr("both lock x"));
}

TEST(GraphSvg, ManyJobsAreCounted) {
  std::string text = "[";
  for (int i = 0; i < 320; ++i) {
    text += std::string(i == 0 ? "" : ",") + "{\"agent\":\"a" + std::to_string(i) +
            "\",\"files\":[\"f" + std::to_string(i) + "\"]}";
  }
  const Drawn all = analysed(text + "]");
  const std::string svg = graph_svg(all.plan, all.analysis, "many");
  EXPECT_EQ(draw::XmlReader(svg).error(), "");
  EXPECT_THAT(svg, HasSubstr("and 20 more jobs"));
}

TEST(Timeline, OneRowForEachJob) {
  const Drawn all = analysed(kHostile);
  const draw::TimelinePicture picture = timeline_picture(all.plan, all.analysis, "t");
  EXPECT_EQ(picture.rows.size(), 3U);
  EXPECT_EQ(picture.bars.size(), 3U);
  EXPECT_EQ(draw::XmlReader(draw::timeline_svg(picture)).error(), "");
}

}  // namespace
}  // namespace lockkeeper::plan

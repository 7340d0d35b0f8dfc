// Two or three resources of any text, one a line: the answers about them agree with each other, in
// a bounded time whatever the patterns (the fuzzer's -timeout).
#include <algorithm>
#include <vector>

#include "fuzz.h"
#include "key/resource.h"
#include "key/unicode.h"

namespace lockkeeper::fuzz {
namespace {

using key::Kind;
using key::Resource;

// The addition (key/resource.h): a path overlaps anything whose literal part is below it.
bool lies_below(const Resource& path, const Resource& other) {
  if (path.kind() != Kind::kFile && path.kind() != Kind::kFolder) return false;
  const auto& above = path.literal();
  const auto& below = other.literal();
  return above.size() <= below.size() && std::equal(above.begin(), above.end(), below.begin());
}

// True, false, or too large a question.
enum class Answer { kNo, kYes, kTooLarge };

Answer overlaps(const Resource& a, const Resource& b) {
  const auto answer = key::overlap(a, b);
  if (answer) return answer->has_value() ? Answer::kYes : Answer::kNo;
  require(answer.error().code == Code::kLimitExceeded, "overlap: another code");
  require_readable(answer.error());
  return Answer::kTooLarge;
}

void check_witness(const Resource& a, const Resource& b) {
  const auto answer = key::overlap(a, b);
  if (!answer || !answer->has_value() || !a.is_path()) return;
  if (lies_below(a, b) || lies_below(b, a)) return;
  // Such a file may be there, but cannot be named: a blank at the end and a backslash are refused.
  if (key::trim_end(**answer) != **answer || answer->value().find('\\') != std::string::npos)
    return;
  const auto name = key::parse(**answer, {}, key::Syntax::kLiteral);
  require(name.has_value(), "the witness is no name: " + **answer);
  // A combining mark right after a wildcard may compose with the letter that the witness has there;
  // then it shows that the patterns meet by another letter (docs/reference/keys.md).
  if (name->resource.text() != **answer) return;
  require(key::covers(a, name->resource) && key::covers(b, name->resource),
          a.text() + " and " + b.text() + ": not both cover " + **answer);
}

void check_pair(const Resource& a, const Resource& b) {
  const Answer forth = overlaps(a, b);
  const Answer back = overlaps(b, a);
  require(forth == back, a.text() + " and " + b.text() + ": overlap is not symmetric");
  if (a.space() != b.space()) require(forth == Answer::kNo, "overlap of two spaces");
  if (forth == Answer::kYes) check_witness(a, b);
  if (key::covers(a, b)) require(forth != Answer::kNo, a.text() + " covers what it is apart from");
  if (key::subsumes(a, b)) require(key::covers(a, b), a.text() + " subsumes, and does not cover");
}

}  // namespace

void run(Input input) {
  std::vector<Resource> resources;
  while (!input.empty() && resources.size() < 3) {
    const auto parsed = key::parse(input.line(), {});
    if (parsed) resources.push_back(parsed->resource);
  }
  for (const Resource& a : resources) {
    for (const Resource& b : resources) check_pair(a, b);
  }
  if (resources.size() < 3) return;
  const Resource& third = resources[2];
  if (key::subsumes(resources[0], resources[1]) && overlaps(third, resources[1]) == Answer::kYes) {
    require(overlaps(third, resources[0]) != Answer::kNo, "it does not subsume");
  }
}

}  // namespace lockkeeper::fuzz

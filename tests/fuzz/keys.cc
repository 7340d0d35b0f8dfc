// One resource of any bytes: parsed, its canonical form is a fixed point, and what the store keeps
// of it gives it back.
#include "fuzz.h"
#include "key/resource.h"
#include "key/unicode.h"

namespace lockkeeper::fuzz {

using key::Kind;
using key::Syntax;

void run(Input input) {
  const unsigned choice = input.byte();
  key::Rules rules;
  rules.fold_case = (choice & 1) != 0;
  rules.strict = (choice & 2) != 0;
  if ((choice & 4) != 0) rules.extra_prefixes = {"team", "x"};
  const Syntax syntaxes[] = {Syntax::kAuto, Syntax::kLiteral, Syntax::kGlob, Syntax::kAuto};
  const auto once = key::parse(input.rest(), rules, syntaxes[choice >> 3 & 3]);
  if (!once) {
    require_readable(once.error());
    const Code code = once.error().code;
    require(code == Code::kInvalidResource || code == Code::kLimitExceeded ||
                code == Code::kOperationNotPermitted,
            "refused with another code");
    return;
  }
  const key::Resource& first = once->resource;
  require(first.text().size() <= key::kKeyTextBytesMax, "longer than the limit");
  const auto normal = key::nfc(first.text());
  require(normal && *normal == first.text(), "not NFC");

  const bool plain = first.kind() == Kind::kFile || first.kind() == Kind::kFolder;
  // Under `strict`, kAuto refuses an escape that may be a Windows path.
  const Syntax same = plain                         ? Syntax::kLiteral
                      : first.kind() == Kind::kGlob ? Syntax::kGlob
                                                    : Syntax::kAuto;
  const auto again = key::parse(first.text(), rules, same);
  require(again.has_value(), "its own text is refused: " + first.text());
  require(again->resource == first, "its own text is another: " + first.text());
  require(again->resource.literal() == first.literal(), "filed elsewhere: " + first.text());

  const auto restored = key::restore(first.text(), first.kind());
  require(restored && *restored == first, "not restored: " + first.text());
  require(restored->literal() == first.literal() && restored->space() == first.space(),
          "restored to another place: " + first.text());

  const auto itself = key::overlap(first, *restored);
  require(itself ? itself->has_value() : itself.error().code == Code::kLimitExceeded,
          "does not overlap itself: " + first.text());
  if (!first.is_glob()) {
    require(key::covers(first, first) && key::subsumes(first, first),
            "does not cover itself: " + first.text());
  }
}

}  // namespace lockkeeper::fuzz

// Text in a picture: its width, cutting it to fit, escaping it for XML. And the elements that all
// pictures have.
//
// The reader's font is unknown. Widths are those of a wide font (DejaVu Sans), so that what fits
// here fits elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace lockkeeper::draw {

// Markup is escaped; characters that XML forbids and invalid UTF-8 become U+FFFD.
std::string xml_escape(std::string_view text);

// One line: line breaks and tabs become spaces, other control characters and direction marks
// U+FFFD. Valid UTF-8, not escaped.
std::string picture_line(std::string_view text);

// The width in pixels of a picture_line() in a font of `size` pixels.
double text_width(std::string_view line, double size);

// The picture_line() of `text`, cut to `width` pixels with "…" at its end.
std::string fit_text(std::string_view text, double size, double width);

// "12.5": one decimal, in any locale; NaN and infinity are "0.0".
std::string svg_number(double value);

// The opening tag of a document; `css` is its class.
std::string svg_begin(std::string_view css, double width, double height, std::string_view title);

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};
std::string svg_rectangle(std::string_view css, const Box& box, double radius = 0);

}  // namespace lockkeeper::draw

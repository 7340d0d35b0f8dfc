// Text in a picture: how wide it will be, cut to what there is room for, safe inside XML.
//
// Nobody knows which font a reader has. Widths are those of a wide one (DejaVu Sans), so that what
// fits here fits elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace lockkeeper::draw {

// Markup escaped; what XML forbids, and bytes that are not UTF-8, replaced by U+FFFD.
std::string xml_escape(std::string_view text);

// One line without anything that moves or hides its neighbours: line breaks and tabs become blanks,
// other controls and marks of direction U+FFFD. Valid UTF-8; not yet escaped.
std::string picture_line(std::string_view text);

// The width in pixels of a picture_line() in a font of `size` pixels.
double text_width(std::string_view line, double size);

// The picture_line() of `text`, cut to `width` pixels with "…" at its end.
std::string fit_text(std::string_view text, double size, double width);

// "12.5": one decimal, whatever the locale; what is no number is "0.0".
std::string svg_number(double value);

}  // namespace lockkeeper::draw

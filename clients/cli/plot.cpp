#include "clients/cli/plot.hpp"

#include <cairo.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/local_errors.hpp"

namespace axion::cli {
namespace {

constexpr int kWidth = 960;
constexpr int kPanelHeight = 300;
constexpr int kTitleHeight = 40;
constexpr double kLeft = 80, kRight = 20, kTop = 30, kBottom = 45;  // margins of a panel, pixels

constexpr std::array<std::array<double, 3>, 8> kColours{{{0.12, 0.47, 0.71},
                                                         {1.00, 0.50, 0.05},
                                                         {0.17, 0.63, 0.17},
                                                         {0.84, 0.15, 0.16},
                                                         {0.58, 0.40, 0.74},
                                                         {0.55, 0.34, 0.29},
                                                         {0.89, 0.47, 0.76},
                                                         {0.50, 0.50, 0.50}}};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double value) {
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
};

// A panel: data coordinates to pixels.
struct Panel {
  double x, y, width, height;  // of the drawing area
  Range horizontal, vertical;
  double to_x(double value) const { return x + (value - horizontal.low) / (horizontal.high - horizontal.low) * width; }
  double to_y(double value) const {
    return y + height - (value - vertical.low) / (vertical.high - vertical.low) * height;
  }
};

// `align` of its width lies left of x; of a text that is wider than `room` the letters are smaller.
void text(cairo_t* cairo, double x, double y, double align, const std::string& content, double room = kWidth) {
  cairo_text_extents_t extents;
  cairo_text_extents(cairo, content.c_str(), &extents);
  const double scale = std::min(1.0, room / std::max(extents.x_advance, 1.0));
  cairo_save(cairo);
  cairo_translate(cairo, x - align * scale * extents.x_advance, y);
  cairo_scale(cairo, scale, scale);
  cairo_move_to(cairo, 0, 0);
  cairo_show_text(cairo, content.c_str());
  cairo_restore(cairo);
}

void draw_axes(cairo_t* cairo, const Panel& panel, const std::vector<double>& x_ticks,
               const std::vector<double>& y_ticks, const std::string& label, bool last) {
  cairo_set_line_width(cairo, 1);
  cairo_set_font_size(cairo, 12);
  const auto x_texts = tick_texts(x_ticks), y_texts = tick_texts(y_ticks);
  for (std::size_t i = 0; i < x_ticks.size(); ++i) {
    const double tick = x_ticks[i];
    cairo_set_source_rgb(cairo, 0.88, 0.88, 0.88);
    cairo_move_to(cairo, panel.to_x(tick), panel.y);
    cairo_line_to(cairo, panel.to_x(tick), panel.y + panel.height);
    cairo_stroke(cairo);
    cairo_set_source_rgb(cairo, 0.2, 0.2, 0.2);
    text(cairo, panel.to_x(tick), panel.y + panel.height + 16, 0.5, x_texts[i]);
  }
  for (std::size_t i = 0; i < y_ticks.size(); ++i) {
    const double tick = y_ticks[i];
    cairo_set_source_rgb(cairo, 0.88, 0.88, 0.88);
    cairo_move_to(cairo, panel.x, panel.to_y(tick));
    cairo_line_to(cairo, panel.x + panel.width, panel.to_y(tick));
    cairo_stroke(cairo);
    cairo_set_source_rgb(cairo, 0.2, 0.2, 0.2);
    text(cairo, panel.x - 6, panel.to_y(tick) + 4, 1, y_texts[i], panel.x - 10);
  }
  cairo_rectangle(cairo, panel.x, panel.y, panel.width, panel.height);
  cairo_stroke(cairo);
  text(cairo, panel.x, panel.y - 8, 0, label);
  if (last) {
    text(cairo, panel.x + panel.width / 2, panel.y + panel.height + 36, 0.5, "time (s)");
  }
}

void draw_lines(cairo_t* cairo, const Panel& panel, const Trace& trace, std::size_t channel) {
  cairo_set_line_width(cairo, 1.4);
  for (int world = 0; world < trace.world_count(); ++world) {
    const auto& colour = kColours[static_cast<std::size_t>(world) % kColours.size()];
    cairo_set_source_rgba(cairo, colour[0], colour[1], colour[2], 0.85);
    bool drawing = false;
    for (std::size_t record = 0; record < trace.times().size(); ++record) {
      const double value = trace.value(record, world, channel);
      if (!std::isfinite(value)) {
        drawing = false;  // a gap where a world had no number
        continue;
      }
      const double x = panel.to_x(trace.times()[record]);
      (drawing ? cairo_line_to : cairo_move_to)(cairo, x, panel.to_y(value));
      drawing = true;
    }
    cairo_stroke(cairo);
  }
}

void draw_panel(cairo_t* cairo, const Trace& trace, std::size_t channel, const std::string& name) {
  Panel panel{kLeft,
              kTitleHeight + kTop + static_cast<double>(channel) * kPanelHeight,
              kWidth - kLeft - kRight,
              kPanelHeight - kTop - kBottom,
              {},
              {}};
  for (std::size_t record = 0; record < trace.times().size(); ++record) {
    panel.horizontal.take(trace.times()[record]);
    for (int world = 0; world < trace.world_count(); ++world) {
      panel.vertical.take(trace.value(record, world, channel));
    }
  }
  const auto x_ticks = nice_ticks(panel.horizontal.low, panel.horizontal.high, 10);
  const auto y_ticks = nice_ticks(panel.vertical.low, panel.vertical.high, 6);
  panel.horizontal = {x_ticks.front(), x_ticks.back()};
  panel.vertical = {y_ticks.front(), y_ticks.back()};
  const std::string label = trace.channels()[channel].label();
  draw_axes(cairo, panel, x_ticks, y_ticks, name.empty() ? label : absl::StrCat(name, "   ", label),
            channel + 1 == trace.channels().size());
  draw_lines(cairo, panel, trace, channel);
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count) {
  if (!std::isfinite(low) || !std::isfinite(high)) {
    low = 0;
    high = 1;
  }
  const double least = std::max(1e-9, 1e-6 * std::max(std::abs(low), std::abs(high)));
  if (high - low < least) {
    low -= least;
    high += least;
  }
  const double rough = (high - low) / std::max(count, 1);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double step = rough <= power       ? power
                      : rough <= 2 * power ? 2 * power
                      : rough <= 5 * power ? 5 * power
                                           : 10 * power;
  std::vector<double> ticks;
  const auto first = static_cast<std::int64_t>(std::floor(low / step + 1e-9));
  const auto last = static_cast<std::int64_t>(std::ceil(high / step - 1e-9));
  for (std::int64_t i = first; i <= last; ++i) {
    ticks.push_back(static_cast<double>(i) * step);
  }
  return ticks;
}

std::vector<std::string> tick_texts(const std::vector<double>& ticks) {
  double greatest = 0, step = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    greatest = std::max(greatest, std::abs(ticks[i]));
    step = i > 0 ? std::min(step, ticks[i] - ticks[i - 1]) : step;
  }
  // Steps have one digit, so that digits down to their place say all.
  const int digits =
      greatest > 0 ? static_cast<int>(std::floor(std::log10(greatest)) - std::floor(std::log10(step))) + 1 : 1;
  std::vector<std::string> texts;
  texts.reserve(ticks.size());
  for (const double tick : ticks) {
    texts.push_back(absl::StrFormat("%.*g", std::clamp(digits, 6, 17), tick));
  }
  return texts;
}

absl::Status write_png(const Trace& trace, const std::vector<std::string>& names, const std::string& title,
                       const std::string& path) {
  if (trace.times().empty() || trace.channels().empty()) {
    return absl::FailedPreconditionError("there are no records to draw");
  }
  const int height = kTitleHeight + kPanelHeight * static_cast<int>(trace.channels().size());
  const std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)> surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, kWidth, height), &cairo_surface_destroy);
  const std::unique_ptr<cairo_t, decltype(&cairo_destroy)> cairo(cairo_create(surface.get()), &cairo_destroy);
  cairo_set_source_rgb(cairo.get(), 1, 1, 1);
  cairo_paint(cairo.get());
  cairo_select_font_face(cairo.get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_source_rgb(cairo.get(), 0, 0, 0);
  cairo_set_font_size(cairo.get(), 15);
  text(cairo.get(), kWidth / 2.0, 26, 0.5, title);
  for (std::size_t channel = 0; channel < trace.channels().size(); ++channel) {
    draw_panel(cairo.get(), trace, channel, channel < names.size() ? names[channel] : std::string());
  }
  const cairo_status_t status = cairo_surface_write_to_png(surface.get(), path.c_str());
  if (status != CAIRO_STATUS_SUCCESS) {
    return file_error(absl::StrCat("cannot write the file '", path, "': ", cairo_status_to_string(status)));
  }
  return absl::OkStatus();
}

}  // namespace axion::cli

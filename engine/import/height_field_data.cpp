#include "engine/import/height_field_data.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "engine/model/validate_scene.hpp"
#ifdef AXION_PNG
#include <png.h>

#include <csetjmp>
#endif

namespace axion::import {
namespace {

static_assert(std::endian::native == std::endian::little);  // the files' numbers are taken as they are

Error bad(const std::string& what) { return invalid_argument("file", what); }

// Fails unless a grid of these sizes is one that a scene may have.
Status check_grid(std::int64_t columns, std::int64_t rows) {
  const std::string sizes = std::to_string(columns) + " columns and " + std::to_string(rows) + " rows";
  if (columns < 2 || rows < 2) return bad("has " + sizes + "; it must have at least 2 of each");
  if (columns > model::kMaxFieldHeights || rows > model::kMaxFieldHeights / columns) {
    return bad("has " + sizes + ", more than " + std::to_string(model::kMaxFieldHeights) + " heights");
  }
  return {};
}

Result<HeightFieldData> read_binary(std::string_view bytes) {
  constexpr std::size_t kHeader = 2 * sizeof(std::int32_t);
  std::int32_t sizes[2] = {0, 0};
  if (bytes.size() < kHeader) return bad("is no height field: it is shorter than the numbers of its rows and columns");
  std::memcpy(sizes, bytes.data(), kHeader);
  if (Status status = check_grid(sizes[1], sizes[0]); !status.ok()) return status.error();
  HeightFieldData field{sizes[1], sizes[0], {}};
  const std::size_t count = std::size_t(field.columns) * std::size_t(field.rows);
  if (bytes.size() != kHeader + count * sizeof(float)) {
    return bad("has " + std::to_string(bytes.size()) + " bytes; its rows and columns need " +
               std::to_string(kHeader + count * sizeof(float)));
  }
  field.heights.resize(count);
  std::memcpy(field.heights.data(), bytes.data() + kHeader, count * sizeof(float));
  for (float height : field.heights) {
    if (!std::isfinite(height)) return bad("has a height that is not finite");
  }
  return field;
}

#ifdef AXION_PNG

// A picture while it is read. libpng leaves a function by longjmp where it fails: functions in which it may hold
// nothing that needs a destructor.
struct PngReader {
  std::string_view bytes;
  std::size_t at = 0;
  char message[128] = "";
  png_structp png = nullptr;
  png_infop info = nullptr;

  explicit PngReader(std::string_view content) : bytes(content) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, ignore);
    if (png != nullptr) info = png_create_info_struct(png);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }

  [[noreturn]] static void fail(png_structp png, png_const_charp text) {
    auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(reader->message, text, sizeof(reader->message) - 1);
    png_longjmp(png, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep to, png_size_t count) {
    auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > reader->bytes.size() - reader->at) png_error(png, "it ends too early");
    std::memcpy(to, reader->bytes.data() + reader->at, count);
    reader->at += count;
  }

  // Both false with a message.
  bool read_header() {
    if (setjmp(png_jmpbuf(png)) != 0) return false;
    png_set_read_fn(png, this, read);
    png_set_user_limits(png, model::kMaxFieldHeights, model::kMaxFieldHeights);
    png_read_info(png, info);
    return true;
  }
  // To 8 bits a channel, without transparency.
  bool set_format() {
    if (setjmp(png_jmpbuf(png)) != 0) return false;
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    return true;
  }
  bool read_rows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png)) != 0) return false;
    png_read_image(png, rows);
    png_read_end(png, nullptr);
    return true;
  }
};

Result<HeightFieldData> read_png(std::string_view bytes) {
  PngReader reader(bytes);
  if (reader.info == nullptr) return bad("cannot be read: there is no memory");
  const auto failed = [&] { return bad(std::string("is no PNG picture that can be read: ") + reader.message); };
  if (!reader.read_header()) return failed();
  const std::int64_t columns = png_get_image_width(reader.png, reader.info),
                     rows = png_get_image_height(reader.png, reader.info);
  if (Status status = check_grid(columns, rows); !status.ok()) return status.error();
  if (!reader.set_format()) return failed();
  const std::size_t pitch = png_get_rowbytes(reader.png, reader.info),
                    channels = png_get_channels(reader.png, reader.info), count = std::size_t(rows);
  std::vector<png_byte> pixels(pitch * count);
  std::vector<png_bytep> lines(count);
  for (std::size_t r = 0; r < count; ++r) lines[r] = pixels.data() + r * pitch;
  if (!reader.read_rows(lines.data())) return failed();
  HeightFieldData field{static_cast<int>(columns), static_cast<int>(rows), {}};
  field.heights.reserve(std::size_t(columns) * count);
  for (std::size_t r = count; r-- > 0;) {
    for (std::size_t c = 0; c < std::size_t(columns); ++c) field.heights.push_back(lines[r][c * channels]);
  }
  return field;
}

#else

Result<HeightFieldData> read_png(std::string_view) {
  return bad("is a PNG picture, which this build does not read (AXION_PNG)");
}

#endif

}  // namespace

Result<HeightFieldData> read_height_field(std::string_view bytes, HeightFieldFormat format) {
  return format == HeightFieldFormat::kPng ? read_png(bytes) : read_binary(bytes);
}

}  // namespace axion::import

//! Values as text, in C: what `almach_value` prints, character for character.

use crate::tree::scalar_c_name;
use almach_value::ScalarType;

/// `show_T`: a scalar, in parentheses where it is negative and asked to be closed.
pub fn show(ty: ScalarType) -> String {
    let c = scalar_c_name(ty);
    let body = match ty {
        ScalarType::Bool => "  (void)closed;\n  put_text(text, value ? \"true\" : \"false\");\n".to_string(),
        ScalarType::F32 => "  show_float(text, (double)value, true, closed);\n".to_string(),
        ScalarType::F64 => "  show_float(text, value, false, closed);\n".to_string(),
        _ if ty.is_unsigned_integer() => "  char chars[24];\n  (void)closed;\n  snprintf(chars, sizeof chars, \"%\" PRIu64, \
                                          (uint64_t)value);\n  put_text(text, chars);\n"
            .to_string(),
        _ => "  char chars[24];\n  snprintf(chars, sizeof chars, closed && value < 0 ? \"(%\" PRId64 \")\" : \"%\" PRId64, \
              (int64_t)value);\n  put_text(text, chars);\n"
            .to_string(),
    };
    format!("static void show_{ty}(struct text *text, {c} value, bool closed) {{\n{body}}}\n")
}

pub const TEXT: &str = r#"/* A line that grows. */
struct text {
  char *chars;
  size_t length, size;
};

static void put_chars(struct text *text, const char *chars, size_t count) {
  if (text->size - text->length < count) {
    const size_t size = 2 * text->size + count + 64;
    char *const larger = realloc(text->chars, size);
    if (larger == NULL) {
      /* Without memory the line is written in pieces. */
      if (text->length > 0) fwrite(text->chars, 1, text->length, stderr);
      fwrite(chars, 1, count, stderr);
      text->length = 0;
      return;
    }
    text->chars = larger;
    text->size = size;
  }
  memcpy(text->chars + text->length, chars, count);
  text->length += count;
}

static void put_text(struct text *text, const char *chars) {
  put_chars(text, chars, strlen(chars));
}

/* Writes the line at once: those of several threads do not mix. */
static void end_line(struct text *text) {
  put_text(text, "\n");
  if (text->length > 0) fwrite(text->chars, 1, text->length, stderr);
  free(text->chars);
}
"#;

/// The shortest digits that read back as the same float; of those the nearest, and of two that are as near the larger. At
/// powers of two the nearest number of so many digits may be outside of what reads back, while the next one up is inside.
pub const SHOW_FLOAT: &str = r#"/* The next number up with so many digits; false where it has one more. */
static bool next_digits(char *chars) {
  char *last = strchr(chars, 'e') - 1;
  while (last > chars && (*last < '0' || *last >= '9')) {
    if (*last == '9') *last = '0';
    last--;
  }
  if (*last == '9') return false;
  ++*last;
  return true;
}

/* Whether a number lies half-way between two of so many digits, of which the text is the smaller one. */
static bool is_half_way(double value, int count, const char *chars) {
  char exact[160];
  snprintf(exact, sizeof exact, "%.*e", count + 99, value);
  const size_t same = (size_t)(count == 1 ? 1 : count + 1);
  if (strncmp(exact, chars, same) != 0) return false;
  const char *rest = exact + same;
  if (count == 1) rest++;
  return *rest == '5' && rest[1 + strspn(rest + 1, "0")] == 'e';
}

static bool reads_back(const char *chars, double value, bool single) {
  return single ? strtof(chars, NULL) == (float)value : strtod(chars, NULL) == value;
}

/* The digits of a positive float, as few as read back as the same; the exponent of the first. */
static int shortest(double value, bool single, char *digits, int *exponent) {
  char chars[40], up[40];
  for (int count = 1; count <= 17; count++) {
    snprintf(chars, sizeof chars, "%.*e", count - 1, value);
    memcpy(up, chars, strlen(chars) + 1);
    const bool near = reads_back(chars, value, single);
    const bool is_up = next_digits(up) && reads_back(up, value, single);
    if (!near && !is_up) continue;
    const char *from = is_up && (!near || is_half_way(value, count, chars)) ? up : chars;
    int found = 0;
    for (; *from != 'e'; from++) {
      if (*from >= '0' && *from <= '9') digits[found++] = *from;
    }
    *exponent = (int)strtol(from + 1, NULL, 10);
    return found;
  }
  return 0;
}

static void show_float(struct text *text, double value, bool single, bool closed) {
  if (isnan(value)) {
    put_text(text, "nan");
    return;
  }
  const bool negative = signbit(value) != 0;
  if (negative) put_text(text, closed ? "(-" : "-");
  value = fabs(value);
  if (isinf(value)) {
    put_text(text, "inf");
  } else if (value == 0) {
    put_text(text, "0.0");
  } else {
    char digits[20], tail[16];
    int exponent = 0;
    const int count = shortest(value, single, digits, &exponent);
    const bool large = single ? (float)value >= 1e16f : value >= 1e16;
    const bool small = single ? (float)value < 1e-4f : value < 1e-4;
    if (large || small) {
      put_chars(text, digits, 1);
      if (count > 1) put_text(text, ".");
      put_chars(text, digits + 1, (size_t)count - 1);
      snprintf(tail, sizeof tail, "e%d", exponent);
      put_text(text, tail);
    } else if (exponent < 0) {
      put_text(text, "0.");
      for (int at = -1; at > exponent; at--) put_text(text, "0");
      put_chars(text, digits, (size_t)count);
    } else {
      for (int at = 0; at <= exponent; at++) put_chars(text, at < count ? digits + at : "0", 1);
      put_text(text, ".");
      if (count > exponent + 1) put_chars(text, digits + exponent + 1, (size_t)(count - exponent - 1));
      if (count <= exponent + 1) put_text(text, "0");
    }
  }
  if (negative && closed) put_text(text, ")");
}
"#;

/* Console output: putchar, puts, printf, vprintf. */
#include "decimal.h"
#include "mutex.h"
#include "spica.h"

int putchar(int character)
{
    volatile uint8_t *lanes = (volatile uint8_t *)SPICA_CONSOLE_BASE;
    lanes[vx_hart_id() % SPICA_CONSOLE_LANES] = (uint8_t)character;
    return (uint8_t)character;
}

/* Format of a conversion. */
typedef struct {
    int width;
    int precision; /* negative: not given */
    char sign;     /* before non-negative numbers: '+', ' ' or 0 */
    char pad;      /* '0' or ' ' */
    char is_left;
    char is_alternate;
    char is_upper;
} Style;

/* One thread of the warp at a time runs the following: branches may depend on any value. */

static void put_repeated(char character, int count)
{
    for (; count > 0; count--)
        putchar(character);
}

static void put_all(const char *text, int length)
{
    for (int k = 0; k < length; k++)
        putchar(text[k]);
}

/* Writes prefix, zeros and text, padded to the width of the style. */
static int put_field(const Style *style, const char *prefix, int zeros, const char *text, int length)
{
    int prefix_length = 0;
    while (prefix[prefix_length])
        prefix_length++;
    int used = prefix_length + zeros + length;
    int fill = style->width > used ? style->width - used : 0;
    if (!style->is_left && style->pad == ' ')
        put_repeated(' ', fill);
    put_all(prefix, prefix_length);
    if (!style->is_left && style->pad == '0')
        put_repeated('0', fill);
    put_repeated('0', zeros);
    put_all(text, length);
    if (style->is_left)
        put_repeated(' ', fill);
    return used + fill;
}

static int put_integer(const Style *style, const char *prefix, uint64_t value, uint32_t base)
{
    const char *symbols = style->is_upper ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[24];
    int at = sizeof text;
    for (; value >> 32; value /= base)
        text[--at] = symbols[value % base];
    for (uint32_t low = (uint32_t)value; low; low /= base)
        text[--at] = symbols[low % base];
    int length = (int)sizeof text - at;
    Style plain = *style;
    if (style->precision >= 0)
        plain.pad = ' '; /* C: a precision disables the flag 0 */
    int digits = style->precision >= 0 ? style->precision : 1;
    return put_field(&plain, prefix, digits > length ? digits - length : 0, text + at, length);
}

static const char *sign_of(const Style *style, int is_negative)
{
    return is_negative ? "-" : style->sign == '+' ? "+" : style->sign == ' ' ? " " : "";
}

static int put_signed(const Style *style, int64_t value)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    return put_integer(style, sign_of(style, value < 0), magnitude, 10);
}

static int put_fixed(const Style *style, const char *sign, double value, int precision)
{
    char text[DECIMAL_BYTES];
    char *end;
    char *start = spica_write_decimal(text, value, precision, style->is_alternate, &end);
    return put_field(style, sign, 0, start, (int)(end - start));
}

/* Writes the digits before `point`, a point, and the rest; zeros stand before the first digit. */
static char *write_pointed(char *at, const char *digits, int count, int point, int is_pointed)
{
    if (point <= 0)
        *at++ = '0';
    for (int k = 0; k < point; k++)
        *at++ = *digits++;
    int rest = point > 0 ? count - point : count;
    if (rest > 0 || is_pointed)
        *at++ = '.';
    for (; point < 0; point++)
        *at++ = '0';
    for (; rest > 0; rest--)
        *at++ = *digits++;
    return at;
}

static char *write_power(char *at, int exponent, int is_upper)
{
    *at++ = is_upper ? 'E' : 'e';
    *at++ = exponent < 0 ? '-' : '+';
    uint32_t power = (uint32_t)(exponent < 0 ? -exponent : exponent);
    if (power >= 100)
        *at++ = (char)('0' + power / 100);
    *at++ = (char)('0' + power / 10 % 10);
    *at++ = (char)('0' + power % 10);
    return at;
}

static int put_scientific(const Style *style, const char *sign, double value, int precision)
{
    char digits[LARGEST_PRECISION + 1], text[2 * LARGEST_PRECISION];
    int exponent = spica_write_digits(digits, value, precision + 1);
    char *end = write_pointed(text, digits, precision + 1, 1, style->is_alternate);
    end = write_power(end, exponent, style->is_upper);
    return put_field(style, sign, 0, text, (int)(end - text));
}

/* The shorter of the two forms, without zeros at the end. */
static int put_general(const Style *style, const char *sign, double value, int precision)
{
    char digits[LARGEST_PRECISION + 1], text[2 * LARGEST_PRECISION];
    int count = precision ? precision : 1;
    int exponent = spica_write_digits(digits, value, count);
    int is_fixed = exponent >= -4 && exponent < count;
    int least = is_fixed && exponent > 0 ? exponent + 1 : 1;
    if (!style->is_alternate) {
        while (count > least && digits[count - 1] == '0')
            count--;
    }
    int point = is_fixed ? exponent + 1 : 1;
    char *end = write_pointed(text, digits, count, point, style->is_alternate);
    if (!is_fixed)
        end = write_power(end, exponent, style->is_upper);
    return put_field(style, sign, 0, text, (int)(end - text));
}

static int put_float(const Style *style, double value, char conversion)
{
    uint64_t bits = __builtin_bit_cast(uint64_t, value);
    const char *sign = sign_of(style, (int)(bits >> 63));
    if ((bits >> 52 & 0x7FF) == 0x7FF) {
        const char *names = style->is_upper ? "NANINF" : "naninf";
        Style plain = *style;
        plain.pad = ' ';
        return put_field(&plain, sign, 0, names + (bits << 12 ? 0 : 3), 3);
    }
    int precision = style->precision < 0 ? 6 : style->precision;
    if (precision > LARGEST_PRECISION)
        precision = LARGEST_PRECISION;
    if (conversion == 'f' || conversion == 'F')
        return put_fixed(style, sign, value, precision);
    if (conversion == 'e' || conversion == 'E')
        return put_scientific(style, sign, value, precision);
    return put_general(style, sign, value, precision);
}

static int put_string(const Style *style, const char *text)
{
    int length = 0;
    if (text == 0)
        text = "(null)";
    while (length != style->precision && text[length])
        length++;
    Style plain = *style;
    plain.pad = ' ';
    return put_field(&plain, "", 0, text, length);
}

static int is_digit(char character)
{
    return character >= '0' && character <= '9';
}

static int read_number(const char **format)
{
    int number = 0;
    for (; is_digit(**format); ++*format)
        number = number * 10 + (**format - '0');
    return number;
}

static const char *read_flags(const char *format, Style *style)
{
    for (;; format++) {
        if (*format == '-')
            style->is_left = 1;
        else if (*format == '0')
            style->pad = '0';
        else if (*format == '#')
            style->is_alternate = 1;
        else if (*format == '+' || (*format == ' ' && !style->sign))
            style->sign = *format;
        else if (*format != ' ')
            return format;
    }
}

typedef struct {
    va_list list;
} Arguments;

static const char *read_sizes(const char *format, Style *style, Arguments *arguments)
{
    if (*format == '*') {
        format++;
        style->width = va_arg(arguments->list, int);
        if (style->width < 0) {
            style->is_left = 1;
            style->width = -style->width;
        }
    } else {
        style->width = read_number(&format);
    }
    if (*format == '.') {
        format++;
        if (*format == '*') {
            format++;
            style->precision = va_arg(arguments->list, int);
        } else {
            style->precision = read_number(&format);
        }
    }
    return format;
}

/* Next integer argument; `longs` counts the letters l, or h as negative. */
static int64_t next_signed(Arguments *arguments, int longs)
{
    if (longs >= 2)
        return va_arg(arguments->list, long long);
    int value = va_arg(arguments->list, int);
    return longs == -1 ? (short)value : longs <= -2 ? (signed char)value : value;
}

static uint64_t next_unsigned(Arguments *arguments, int longs)
{
    if (longs >= 2)
        return va_arg(arguments->list, unsigned long long);
    unsigned value = va_arg(arguments->list, unsigned);
    return longs == -1 ? (unsigned short)value : longs <= -2 ? (unsigned char)value : value;
}

static int put_unsigned(const Style *style, uint64_t value, char conversion)
{
    if (conversion == 'u')
        return put_integer(style, "", value, 10);
    if (conversion == 'o') {
        Style octal = *style; /* C: the flag # makes the first digit a zero */
        int digits = 1;
        for (uint64_t rest = value >> 3; rest; rest >>= 3)
            digits++;
        if (octal.is_alternate && value && octal.precision <= digits)
            octal.precision = digits + 1;
        return put_integer(&octal, "", value, 8);
    }
    const char *prefix = style->is_upper ? "0X" : "0x";
    return put_integer(style, style->is_alternate && value ? prefix : "", value, 16);
}

/* Counts the letters l of an argument's length; h counts as negative. */
static const char *read_length(const char *format, int *longs)
{
    for (*longs = 0;; format++) {
        if (*format == 'h')
            --*longs;
        else if (*format == 'l')
            ++*longs;
        else if (*format == 'j')
            *longs = 2;
        else if (*format != 'z' && *format != 't')
            return format;
    }
}

static int put_conversion(Style *style, char conversion, int longs, Arguments *arguments)
{
    style->is_upper = conversion >= 'A' && conversion <= 'Z';
    switch (conversion) {
    case 'd':
    case 'i':
        return put_signed(style, next_signed(arguments, longs));
    case 'o':
    case 'u':
    case 'x':
    case 'X':
        return put_unsigned(style, next_unsigned(arguments, longs), conversion);
    case 'p':
        style->is_alternate = 1;
        return put_unsigned(style, va_arg(arguments->list, uintptr_t), conversion);
    case 'c': {
        char character = (char)va_arg(arguments->list, int);
        style->pad = ' ';
        return put_field(style, "", 0, &character, 1);
    }
    case 's':
        return put_string(style, va_arg(arguments->list, const char *));
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        return put_float(style, va_arg(arguments->list, double), conversion);
    default: /* includes % */
        putchar(conversion);
        return 1;
    }
}

static int print_alone(const char *format, Arguments *arguments)
{
    int count = 0;
    for (; *format; format++) {
        if (*format != '%') {
            putchar(*format);
            count++;
            continue;
        }
        Style style = {.precision = -1, .pad = ' '};
        int longs;
        format = read_sizes(read_flags(format + 1, &style), &style, arguments);
        format = read_length(format, &longs);
        if (*format == 0)
            return count;
        count += put_conversion(&style, *format, longs, arguments);
    }
    return count;
}

int vprintf(const char *format, va_list list)
{
    Arguments arguments;
    va_copy(arguments.list, list);
    int count = 0;
    /* The mask moves, since no shift is by 32. */
    for (uint32_t thread = 0, left = vx_thread_mask(); left; thread++, left >>= 1) {
        SPICA_IF (vx_thread_id() == thread) {
            spica_lock();
            count = print_alone(format, &arguments);
            spica_unlock();
        } SPICA_END_IF
    }
    return count;
}

int printf(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int count = vprintf(format, list);
    va_end(list);
    return count;
}

int puts(const char *text)
{
    return printf("%s\n", text);
}

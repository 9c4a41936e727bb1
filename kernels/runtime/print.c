/* Text on the console. */
#include "spica.h"

int putchar(int character)
{
    volatile uint8_t *lanes = (volatile uint8_t *)SPICA_CONSOLE_BASE;
    lanes[vx_hart_id() % SPICA_CONSOLE_LANES] = (uint8_t)character;
    return (uint8_t)character;
}

/* How a conversion wants its text. */
typedef struct {
    int width;
    int precision; /* below 0: not given */
    char sign;     /* before numbers not below zero: '+', ' ' or 0 */
    char pad;      /* '0' or ' ' */
    char is_left;
    char is_alternate;
    char is_upper;
} Style;

/* What follows is executed by one thread of the warp at a time: branches may depend on anything. */

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

/* Prefix, zeros, text, in the width that the style wants. */
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
        plain.pad = ' '; /* C: the flag 0 does not go with a precision */
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

#define LIMBS 33          /* of 32 bits: the integer part of every double */
#define LARGEST_PRECISION 32
#define GROUP 1000000000u /* nine decimal digits at a time */

/* Writes the decimal digits of an integer, highest limb last, before `end`; returns their start. */
static char *write_digits(char *end, uint32_t *limbs, int count)
{
    while (count > 0 && limbs[count - 1] == 0)
        count--;
    char *at = end;
    while (count > 0) {
        uint64_t rest = 0;
        for (int k = count - 1; k >= 0; k--) {
            rest = rest << 32 | limbs[k];
            limbs[k] = (uint32_t)(rest / GROUP);
            rest %= GROUP;
        }
        while (count > 0 && limbs[count - 1] == 0)
            count--;
        uint32_t group = (uint32_t)rest;
        for (int k = 0; k < 9 && (count > 0 || group); k++, group /= 10)
            *--at = (char)('0' + group % 10);
    }
    if (at == end)
        *--at = '0';
    return at;
}

/* Adds one to a decimal number, point skipped; returns its start, one earlier after a carry. */
static char *increment(char *start, char *end)
{
    for (char *at = end - 1; at >= start; at--) {
        if (*at == '.')
            continue;
        if (*at != '9') {
            ++*at;
            return start;
        }
        *at = '0';
    }
    *--start = '1';
    return start;
}

/* `precision` digits behind the point, rounded to nearest, ties to even; a fraction counts to its
 * 64th bit and the knowledge whether there is more. */
static int put_fixed(const Style *style, double value)
{
    uint64_t bits = __builtin_bit_cast(uint64_t, value);
    int exponent = (int)(bits >> 52 & 0x7FF);
    uint64_t significand = bits & 0xFFFFFFFFFFFFFull;
    const char *sign = sign_of(style, (int)(bits >> 63));
    Style plain = *style;
    if (exponent == 0x7FF) {
        const char *names = style->is_upper ? "NANINF" : "naninf";
        plain.pad = ' ';
        return put_field(&plain, sign, 0, significand ? names : names + 3, 3);
    }
    if (exponent)
        significand |= 1ull << 52;
    else
        exponent = 1;
    int places = exponent - 1075; /* the value is significand * 2^places */

    uint32_t limbs[LIMBS + 2] = {0};
    uint64_t fraction = 0;
    if (places >= 0) {
        uint64_t low = significand << (places & 31);
        uint64_t high = places & 31 ? significand >> (64 - (places & 31)) : 0;
        limbs[places >> 5] = (uint32_t)low;
        limbs[(places >> 5) + 1] = (uint32_t)(low >> 32);
        limbs[(places >> 5) + 2] = (uint32_t)high;
    } else if (places > -64) {
        uint64_t whole = significand >> -places;
        limbs[0] = (uint32_t)whole;
        limbs[1] = (uint32_t)(whole >> 32);
        fraction = significand << (64 + places);
    } else if (places > -128) {
        uint64_t lost = significand & ((1ull << (-places - 64)) - 1);
        fraction = significand >> (-places - 64) | (lost != 0);
    } else {
        fraction = significand != 0;
    }

    char text[320 + LARGEST_PRECISION];
    char *point = text + sizeof text - LARGEST_PRECISION - 1;
    char *start = write_digits(point, limbs, LIMBS + 2);
    int precision = style->precision < 0 ? 6 : style->precision;
    if (precision > LARGEST_PRECISION)
        precision = LARGEST_PRECISION;
    char *end = point;
    if (precision || style->is_alternate)
        *end++ = '.';
    for (int k = 0; k < precision; k++) {
        uint64_t low = (fraction & 0xFFFFFFFF) * 10;
        uint64_t high = (fraction >> 32) * 10 + (low >> 32);
        *end++ = (char)('0' + (high >> 32));
        fraction = high << 32 | (uint32_t)low;
    }
    char last = precision ? end[-1] : point[-1];
    if (fraction > 1ull << 63 || (fraction == 1ull << 63 && (last & 1)))
        start = increment(start, end);
    return put_field(&plain, sign, 0, start, (int)(end - start));
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

/* The next integer argument, of a length of `longs` letters l, or h below zero. */
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
    const char *prefix = style->is_upper ? "0X" : "0x";
    return put_integer(style, style->is_alternate && value ? prefix : "", value, 16);
}

/* One conversion; `format` is behind its percent sign, and is left behind its last letter. */
static int put_conversion(const char **format, Arguments *arguments)
{
    Style style = {.precision = -1, .pad = ' '};
    const char *at = read_sizes(read_flags(*format, &style), &style, arguments);
    int longs = 0;
    for (;; at++) {
        if (*at == 'h')
            longs--;
        else if (*at == 'l')
            longs++;
        else if (*at == 'j')
            longs = 2;
        else if (*at != 'z' && *at != 't')
            break;
    }
    char conversion = *at;
    if (conversion == 0) {
        *format = at;
        return 0;
    }
    *format = at + 1;
    style.is_upper = conversion == 'X' || conversion == 'F';
    switch (conversion) {
    case 'd':
    case 'i':
        return put_signed(&style, next_signed(arguments, longs));
    case 'u':
    case 'x':
    case 'X':
        return put_unsigned(&style, next_unsigned(arguments, longs), conversion);
    case 'p':
        style.is_alternate = 1;
        return put_unsigned(&style, va_arg(arguments->list, uintptr_t), conversion);
    case 'c': {
        char character = (char)va_arg(arguments->list, int);
        style.pad = ' ';
        return put_field(&style, "", 0, &character, 1);
    }
    case 's':
        return put_string(&style, va_arg(arguments->list, const char *));
    case 'f':
    case 'F':
        return put_fixed(&style, va_arg(arguments->list, double));
    default:
        putchar(conversion); /* %% too */
        return 1;
    }
}

static int print_alone(const char *format, Arguments *arguments)
{
    int count = 0;
    while (*format) {
        char character = *format++;
        if (character == '%') {
            count += put_conversion(&format, arguments);
        } else {
            putchar(character);
            count++;
        }
    }
    return count;
}

int vprintf(const char *format, va_list list)
{
    Arguments arguments;
    va_copy(arguments.list, list);
    int count = 0;
    uint32_t mask = vx_thread_mask();
    for (uint32_t thread = 0; mask >> thread; thread++) {
        SPICA_IF (vx_thread_id() == thread) {
            count = print_alone(format, &arguments);
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

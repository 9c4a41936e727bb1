/* Text on the console, of one thread and of many. */
#include <spica.h>

static void report(uint32_t task, void *argument)
{
    printf("task %u of %s: %.2f\n", task, (const char *)argument, (float)task * 0.75f - 1.5f);
}

static void letters(uint32_t task, void *argument)
{
    putchar('a' + (int)task);
}

int main(void)
{
    if (vx_core_id() != 0)
        return 0;
    puts("start");
    printf("%d|%5d|%-5d|%05d|%+d|% d|%i\n", -42, 42, 42, -42, 42, 42, (int)-2147483648);
    printf("%u|%x|%X|%#x|%08x|%.3u|%%|%c|%5c|%-3c|\n", 4000000000u, 0xBEEF, 0xBEEF, 255, 0x1234, 7u,
           'z', 'y', 'x');
    printf("%s|%8s|%-8s|%.2s|%s|%p\n", "text", "right", "left", "cut", (const char *)0, (void *)4096);
    printf("%lld|%llu|%llx|%hd|%hhu|%ld|%zu\n", -1234567890123456789ll, 12345678901234567890ull,
           0x123456789ABCDEFull, 65535, 257, 7l, (size_t)9);
    printf("%f|%.0f|%.3f|%8.2f|%-8.1f|%08.3f|%+.1f|%#.0f\n", 3.14159265, 2.5, -0.0005, 1e3, 0.25, -1.5,
           9.95, 3.0);
    printf("%f|%f|%F|%f|%.1f|%.10f\n", NAN, -INFINITY, INFINITY, 1e20, 3.4028234e38f, 1e-10);
    printf("%*d|%-*d|%.*f|%.9f|%.0f|%.0f\n", 6, 1, 4, 2, 3, 2.0, 1e-40f, 0.5, 1.5);
    vx_spawn_tasks(3, report, "three");
    vx_spawn_tasks(3, letters, 0);
    printf("%d\n", printf("\n%d", 123));
    return 0;
}

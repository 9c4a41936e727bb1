// A program in the style of Vortex v2: its headers, names and casts.
#include <stdint.h>
#include <vx_intrinsics.h>
#include <vx_print.h>
#include <vx_spawn.h>

typedef struct {
    uint32_t num_points;
    uint32_t src0_addr;
    uint32_t src1_addr;
    uint32_t dst_addr;
} kernel_arg_t;

#define KERNEL_ARG_DEV_MEM_ADDR 0x9fff0000

void kernel_body(int task_id, kernel_arg_t *__UNIFORM__ arg)
{
    auto src0 = reinterpret_cast<int32_t *>(arg->src0_addr);
    auto src1 = reinterpret_cast<int32_t *>(arg->src1_addr);
    auto dst = reinterpret_cast<int32_t *>(arg->dst_addr);
    dst[task_id] = src0[task_id] + src1[task_id];
}

// Serial execution of a warp's threads, written by hand. All of them enter a function of its own.
__attribute__((noinline)) void greet(void)
{
    auto sp = vx_split_n(vx_thread_id() < 2);
    if (vx_thread_id() >= 2)
        vx_printf("%d ", vx_thread_id());
    vx_join(sp);
}

__attribute__((noinline)) void hello(void)
{
    vx_tmc(-1);
    greet();
    if (vx_warp_id() != 0)
        vx_tmc_zero();
    vx_tmc_one();
}

int main()
{
    kernel_arg_t *arg = (kernel_arg_t *)KERNEL_ARG_DEV_MEM_ADDR;
    uint32_t num_points = arg->num_points;
    if (csr_read(VX_CSR_NUM_THREADS) != (uint32_t)vx_num_threads())
        return 1;
    csr_write(VX_CSR_MSCRATCH, 0x1234);
    if (csr_read(VX_CSR_MSCRATCH) != 0x1234 || vx_active_threads() != 1 || vx_active_warps() != 1)
        return 2;
    vx_spawn_tasks(num_points, (vx_spawn_tasks_cb)kernel_body, arg);
    vx_spawn_tasks_contiguous(num_points, (vx_spawn_tasks_cb)kernel_body, arg);
    vx_fence();
    vx_barrier(0, 1);
    if (vx_core_id() == 0) {
        vx_putint(-7, 10);
        vx_putint(255, 16);
        vx_putfloat(1.5f, 2);
        vx_putchar('\n');
        vx_wspawn(2, hello);
        hello();
        vx_wspawn_wait();
    }
    return 0;
}

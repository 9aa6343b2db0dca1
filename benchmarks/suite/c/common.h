/* What the hand-written functions share: threads, and buffers that stay warm between calls. */
#ifndef COMMON_H
#define COMMON_H

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define R restrict

/* Clang and GCC alike; the value is that of the calling thread's next parallel regions. */
void set_threads(int n) { omp_set_num_threads(n); }

/* Buffer number `slot` with room for n doubles. It keeps its memory from call to call, so that its pages are faulted in
   once, each by the thread that works on that part of it under a static schedule. What it holds is what was left there. */
static double *buffer(int slot, size_t n)
{
    static double *kept[32];
    static size_t room[32];
    if (room[slot] < n) {
        free(kept[slot]);
        if (posix_memalign((void **)&kept[slot], 64, n * sizeof(double)))
            abort();
        room[slot] = n;
        double *p = kept[slot];
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i += 512)
            p[i] = 0.0;
    }
    return kept[slot];
}

static inline void clear(double *p, size_t n)
{
    memset(p, 0, n * sizeof(double));
}

#endif

/* What the machine can do: memory bandwidth, vector sines, multiply-adds, and the latency of a chain of them. */
#include "common.h"

/* STREAM triad over three arrays of n doubles, `repeats` times; each thread keeps to its part. */
double triad(int64_t n, int64_t repeats)
{
    double *R a = buffer(0, n), *R b = buffer(1, n), *R c = buffer(2, n);
#pragma omp parallel
    for (int64_t k = 0; k < repeats; k++) {
        double s = 1.0 + 1e-9 * (double)k;
#pragma omp for simd schedule(static) nowait
        for (int64_t i = 0; i < n; i++)
            a[i] = b[i] + s * c[i];
    }
    return a[n / 2];
}

/* n sines on each thread, of numbers in cache. */
double sines(int64_t n)
{
    double total = 0;
#pragma omp parallel reduction(+ : total)
    {
        double x[1024], y[1024];
        for (int i = 0; i < 1024; i++)
            x[i] = 0.001 * i, y[i] = 0;
        for (int64_t k = 0; k < n; k += 1024) {
            x[k / 1024 % 1024] += 1e-9;
#pragma omp simd
            for (int i = 0; i < 1024; i++)
                y[i] = sin(x[i]);
            total += y[k / 1024 % 1024];
        }
    }
    return total;
}

#if defined __AVX512F__
#define VECTOR 8
#elif defined __AVX__
#define VECTOR 4
#else
#define VECTOR 2
#endif

/* n multiply-adds on each thread, in as many independent chains as hide their latency (two units, four or five cycles),
   and no more than there are registers for: through memory half as many would be done. */
double multiply_adds(int64_t n)
{
    double total = 0;
#pragma omp parallel reduction(+ : total)
    {
        enum { LANES = 10 * VECTOR };
        double x[LANES];
        for (int i = 0; i < LANES; i++)
            x[i] = 1.0 + 0.001 * i;
        double a = 0.999999, b = 1e-9 * omp_get_thread_num();
        for (int64_t k = 0; k < n; k += LANES)
            for (int i = 0; i < LANES; i++)
                x[i] = x[i] * a + b;
        for (int i = 0; i < LANES; i++)
            total += x[i];
    }
    return total;
}

/* n multiply-adds, each of which needs the one before. */
double chain(int64_t n)
{
    double x = 1.0, a = 0.999999, b = 1e-9;
    for (int64_t k = 0; k < n; k++)
        x = x * a + b;
    return x;
}

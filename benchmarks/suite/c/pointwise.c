/* out = sin(2a) cos(3b) 4c, point by point, and its three partials times a cotangent w. */
#include "common.h"

enum { BLOCK = 512 };

double primal(const double *R a, const double *R b, const double *R c, double *R out, int64_t n)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++)
        out[i] = sin(2 * a[i]) * cos(3 * b[i]) * 4 * c[i];
    return 0;
}

/* Sines and cosines of one argument are in loops of their own: side by side, GCC makes one sincos of them, which it does
   not vectorise. */
double gradient(const double *R a, const double *R b, const double *R c, const double *R w, double *R out, double *R da,
                double *R db, double *R dc, int64_t n)
{
#pragma omp parallel for schedule(static)
    for (int64_t first = 0; first < n; first += BLOCK) {
        double sa[BLOCK], ca[BLOCK], sb[BLOCK], cb[BLOCK];
        int count = n - first < BLOCK ? (int)(n - first) : BLOCK;
        const double *R x = a + first, *R y = b + first, *R z = c + first, *R v = w + first;
#pragma omp simd
        for (int i = 0; i < count; i++)
            sa[i] = sin(2 * x[i]);
#pragma omp simd
        for (int i = 0; i < count; i++)
            ca[i] = cos(2 * x[i]);
#pragma omp simd
        for (int i = 0; i < count; i++)
            sb[i] = sin(3 * y[i]);
#pragma omp simd
        for (int i = 0; i < count; i++)
            cb[i] = cos(3 * y[i]);
#pragma omp simd
        for (int i = 0; i < count; i++) {
            double four = 4 * z[i], weight = v[i];
            out[first + i] = sa[i] * cb[i] * four;
            da[first + i] = 2 * weight * ca[i] * cb[i] * four;
            db[first + i] = -3 * weight * sa[i] * sb[i] * four;
            dc[first + i] = 4 * weight * sa[i] * cb[i];
        }
    }
    return 0;
}

/* The rim of a plate of n x m points, which an explicit step leaves as it is.

   In an adjoint it is zero in the arrays, so that rows need no cases, and what reaches it is summed beside, in `edge`: top
   row, bottom row, first column, last column. */
#ifndef RIM_H
#define RIM_H

#include "common.h"

static void copy_rim(const double *R u, double *R v, int64_t n, int64_t m)
{
    memcpy(v, u, m * sizeof(double));
    memcpy(v + (n - 1) * m, u + (n - 1) * m, m * sizeof(double));
    for (int64_t i = 1; i < n - 1; i++)
        v[i * m] = u[i * m], v[i * m + m - 1] = u[i * m + m - 1];
}

/* The rim of p goes to `edge`, and is zero from then on. */
static void take_rim(double *R p, double *R edge, int64_t n, int64_t m)
{
    memcpy(edge, p, m * sizeof(double));
    memcpy(edge + m, p + (n - 1) * m, m * sizeof(double));
    clear(p, m);
    clear(p + (n - 1) * m, m);
    for (int64_t i = 1; i < n - 1; i++) {
        edge[2 * m + i] = p[i * m], edge[2 * m + n + i] = p[i * m + m - 1];
        p[i * m] = p[i * m + m - 1] = 0;
    }
}

static void put_rim(double *R p, const double *R edge, int64_t n, int64_t m)
{
    memcpy(p, edge, m * sizeof(double));
    memcpy(p + (n - 1) * m, edge + m, m * sizeof(double));
    for (int64_t i = 1; i < n - 1; i++)
        p[i * m] = edge[2 * m + i], p[i * m + m - 1] = edge[2 * m + n + i];
}

#endif

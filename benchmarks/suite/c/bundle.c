/* Bundle adjustment as in ADBench: half the sum of squared reprojection and weight errors, by cameras, points and weights.
   A camera has a rotation vector (3), a centre (3), a focal length, a principal point (2) and two radial distortions.

   Observations go to threads; what cameras and points collect, each thread sums in arrays of its own. */
#include "common.h"

enum { CAMERA = 11 };

typedef struct {
    double x, y, z;
} V;

static inline V add(V a, V b) { return (V){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline V scaled(double s, V a) { return (V){s * a.x, s * a.y, s * a.z}; }
static inline double dot(V a, V b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline V cross(V a, V b) { return (V){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static inline V vector(const double *p) { return (V){p[0], p[1], p[2]}; }
static inline void collect(double *p, V a) { p[0] += a.x, p[1] += a.y, p[2] += a.z; }

typedef struct {
    V turned, from; /* the point in the camera's frame, and before the rotation */
    double u, v, square, shrink, ex, ey; /* projected, its squared radius, the distortion, the error without weight */
} View;

static inline V rotate(V r, V x)
{
    double square = dot(r, r);
    if (square == 0)
        return add(x, cross(r, x));
    double angle = sqrt(square), c = cos(angle), s = sin(angle);
    V w = scaled(1 / angle, r);
    return add(add(scaled(c, x), scaled(s, cross(w, x))), scaled(dot(w, x) * (1 - c), w));
}

static inline View look(const double *camera, const double *point, const double *feature)
{
    View k;
    k.from = (V){point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]};
    k.turned = rotate(vector(camera), k.from);
    k.u = k.turned.x / k.turned.z, k.v = k.turned.y / k.turned.z;
    k.square = k.u * k.u + k.v * k.v;
    k.shrink = 1 + camera[9] * k.square + camera[10] * k.square * k.square;
    k.ex = k.u * k.shrink * camera[6] + camera[7] - feature[0];
    k.ey = k.v * k.shrink * camera[6] + camera[8] - feature[1];
    return k;
}

/* The adjoint of the rotation: what reaches its argument is returned, what reaches r is added to `bar`. */
static inline V rotate_back(V r, V x, V out, double *bar)
{
    double square = dot(r, r);
    if (square == 0) {
        collect(bar, cross(x, out));
        return add(out, cross(out, r));
    }
    double angle = sqrt(square), c = cos(angle), s = sin(angle);
    V w = scaled(1 / angle, r);
    double along = dot(w, x), across = dot(w, out);
    /* out = c x + s w x x + (1 - c) (w.x) w */
    double c_bar = dot(x, out) - along * across, s_bar = dot(cross(w, x), out);
    V w_bar = add(scaled(s, cross(x, out)), add(scaled((1 - c) * across, x), scaled((1 - c) * along, out)));
    double angle_bar = -s * c_bar + c * s_bar - dot(w_bar, w) / angle;
    collect(bar, add(scaled(1 / angle, w_bar), scaled(angle_bar, w)));
    return add(scaled(c, out), add(scaled(s, cross(out, w)), scaled((1 - c) * across, w)));
}

double primal(const double *cameras, const double *points, const double *weights, const int64_t *seen,
              const double *features, int64_t observations, int64_t cameras_count, int64_t points_count)
{
    double total = 0;
    (void)cameras_count, (void)points_count;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (int64_t i = 0; i < observations; i++) {
        View k = look(cameras + CAMERA * seen[2 * i], points + 3 * seen[2 * i + 1], features + 2 * i);
        double w = weights[i], lost = 1 - w * w;
        total += w * w * (k.ex * k.ex + k.ey * k.ey) + lost * lost;
    }
    return 0.5 * total;
}

double gradient(const double *cameras, const double *points, const double *weights, const int64_t *seen,
                const double *features, double *by_camera, double *by_point, double *by_weight, int64_t observations,
                int64_t cameras_count, int64_t points_count)
{
    double total = 0;
    size_t first = CAMERA * (size_t)cameras_count, each = first + 3 * (size_t)points_count;
    double *all = buffer(0, each * omp_get_max_threads());
    int threads = 1;
#pragma omp parallel reduction(+ : total)
    {
        double *mine = all + each * omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        clear(mine, each);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < observations; i++) {
            const double *camera = cameras + CAMERA * seen[2 * i];
            double *bar = mine + CAMERA * seen[2 * i];
            View k = look(camera, points + 3 * seen[2 * i + 1], features + 2 * i);
            double w = weights[i], lost = 1 - w * w, error = k.ex * k.ex + k.ey * k.ey;
            total += w * w * error + lost * lost;
            by_weight[i] = w * error - 2 * lost * w;
            double px = w * w * k.ex, py = w * w * k.ey;
            double moved = k.u * px + k.v * py;
            bar[6] += k.shrink * moved, bar[7] += px, bar[8] += py;
            double shrink_bar = camera[6] * moved;
            bar[9] += shrink_bar * k.square, bar[10] += shrink_bar * k.square * k.square;
            double square_bar = shrink_bar * (camera[9] + 2 * camera[10] * k.square);
            double u_bar = px * k.shrink * camera[6] + 2 * k.u * square_bar;
            double v_bar = py * k.shrink * camera[6] + 2 * k.v * square_bar;
            V out = {u_bar / k.turned.z, v_bar / k.turned.z, -(u_bar * k.u + v_bar * k.v) / k.turned.z};
            V from = rotate_back(vector(camera), k.from, out, bar);
            collect(mine + first + 3 * seen[2 * i + 1], from);
            collect(bar + 3, scaled(-1, from));
        }
#pragma omp for schedule(static)
        for (size_t i = 0; i < each; i++) {
            double sum = all[i];
            for (int t = 1; t < threads; t++)
                sum += all[each * t + i];
            *(i < first ? by_camera + i : by_point + (i - first)) = sum;
        }
    }
    return 0.5 * total;
}

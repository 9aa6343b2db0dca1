/* The LSTM of ADBench: gates act element by element. Weights w are (2 layers, 4 d): of each layer a row of weights and one of
   biases, for the gates forget, in, out and change. Extras are three rows: scale of the input, scale and bias of the output.

   Forward, the gates of every step are stored; each is a vector loop over the elements. */
#include "common.h"

enum { FORGET, IN, OUT, CHANGE, BEFORE, SQUASHED, INPUT, HIDDEN, KEPT };

static inline double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

typedef struct {
    int64_t layers, d, length;
    const double *w, *extra, *sequence;
} Net;

/* Runs all steps. Of each step and layer KEPT rows of d are stored, if `tape` is not NULL, and predictions of each step. */
static double run(Net g, const double *state, double *R hidden, double *R cell, double *R in, double *R scratch,
                  double *tape, double *outputs)
{
    const int64_t d = g.d;
    double total = 0;
    for (int64_t l = 0; l < g.layers; l++) {
        memcpy(hidden + l * d, state + 2 * l * d, d * sizeof(double));
        memcpy(cell + l * d, state + (2 * l + 1) * d, d * sizeof(double));
    }
    for (int64_t t = 0; t + 1 < g.length; t++) {
        const double *R x = g.sequence + t * d;
#pragma omp simd
        for (int64_t i = 0; i < d; i++)
            in[i] = x[i] * g.extra[i];
        for (int64_t l = 0; l < g.layers; l++) {
            const double *R w = g.w + 2 * l * 4 * d, *R b = w + 4 * d;
            double *R row = tape ? tape + (t * g.layers + l) * KEPT * d : scratch;
            double *R h = hidden + l * d, *R c = cell + l * d;
#pragma omp simd
            for (int64_t i = 0; i < d; i++) {
                double forget = sigmoid(in[i] * w[i] + b[i]), input = sigmoid(h[i] * w[d + i] + b[d + i]);
                double output = sigmoid(in[i] * w[2 * d + i] + b[2 * d + i]);
                double change = tanh(h[i] * w[3 * d + i] + b[3 * d + i]);
                row[FORGET * d + i] = forget, row[IN * d + i] = input, row[OUT * d + i] = output;
                row[CHANGE * d + i] = change, row[BEFORE * d + i] = c[i], row[INPUT * d + i] = in[i];
                row[HIDDEN * d + i] = h[i];
                c[i] = c[i] * forget + input * change;
                double squashed = tanh(c[i]);
                row[SQUASHED * d + i] = squashed;
                h[i] = output * squashed;
                in[i] = h[i];
            }
        }
        const double *R next = g.sequence + (t + 1) * d;
        double *R y = outputs ? outputs + t * d : scratch, sum = 2, dot = 0, weight = 0;
#pragma omp simd reduction(+ : sum, dot, weight)
        for (int64_t i = 0; i < d; i++) {
            double value = in[i] * g.extra[d + i] + g.extra[2 * d + i];
            y[i] = value;
            sum += exp(value);
            dot += next[i] * value;
            weight += next[i];
        }
        total += dot - weight * log(sum);
    }
    return -total / (double)((g.length - 1) * d);
}

double primal(const double *w, const double *extra, const double *state, const double *sequence, int64_t layers, int64_t d,
              int64_t length)
{
    Net g = {layers, d, length, w, extra, sequence};
    return run(g, state, buffer(0, layers * d), buffer(1, layers * d), buffer(2, d), buffer(3, KEPT * d), NULL, NULL);
}

double gradient(const double *w, const double *extra, const double *state, const double *sequence, double *R w_bar,
                double *R extra_bar, int64_t layers, int64_t d, int64_t length)
{
    Net g = {layers, d, length, w, extra, sequence};
    double *tape = buffer(4, (length * layers + 1) * KEPT * d), *outputs = buffer(5, (length + 1) * d);
    double value = run(g, state, buffer(0, layers * d), buffer(1, layers * d), buffer(2, d), buffer(3, KEPT * d), tape,
                       outputs);
    double *hb = buffer(6, layers * d), *cb = buffer(7, layers * d), *R bar = buffer(8, d);
    clear(hb, layers * d), clear(cb, layers * d);
    clear(w_bar, 2 * layers * 4 * d), clear(extra_bar, 3 * d);
    double scale = -1.0 / (double)((length - 1) * d);
    for (int64_t t = length - 2; t >= 0; t--) {
        const double *R y = outputs + t * d, *R next = sequence + (t + 1) * d, *R x = sequence + t * d;
        const double *R last = tape + (t * layers + layers - 1) * KEPT * d;
        double sum = 2, weight = 0;
#pragma omp simd reduction(+ : sum, weight)
        for (int64_t i = 0; i < d; i++)
            sum += exp(y[i]), weight += next[i];
        double share = weight / sum;
#pragma omp simd
        for (int64_t i = 0; i < d; i++) {
            double yb = scale * (next[i] - share * exp(y[i]));
            extra_bar[d + i] += yb * last[OUT * d + i] * last[SQUASHED * d + i];
            extra_bar[2 * d + i] += yb;
            bar[i] = yb * extra[d + i];
        }
        for (int64_t l = layers - 1; l >= 0; l--) {
            const double *R v = w + 2 * l * 4 * d, *R row = tape + (t * layers + l) * KEPT * d;
            double *R vb = w_bar + 2 * l * 4 * d, *R bb = vb + 4 * d, *R h = hb + l * d, *R c = cb + l * d;
#pragma omp simd
            for (int64_t i = 0; i < d; i++) {
                double forget = row[FORGET * d + i], input = row[IN * d + i], output = row[OUT * d + i];
                double change = row[CHANGE * d + i], squashed = row[SQUASHED * d + i];
                double here = bar[i] + h[i], cell = c[i] + here * output * (1 - squashed * squashed);
                double ob = here * squashed * output * (1 - output);
                double fb = cell * row[BEFORE * d + i] * forget * (1 - forget);
                double ib = cell * change * input * (1 - input), gb = cell * input * (1 - change * change);
                double in = row[INPUT * d + i], before = row[HIDDEN * d + i];
                vb[i] += fb * in, vb[d + i] += ib * before, vb[2 * d + i] += ob * in, vb[3 * d + i] += gb * before;
                bb[i] += fb, bb[d + i] += ib, bb[2 * d + i] += ob, bb[3 * d + i] += gb;
                c[i] = cell * forget;
                h[i] = ib * v[d + i] + gb * v[3 * d + i];
                bar[i] = fb * v[i] + ob * v[2 * d + i];
            }
        }
#pragma omp simd
        for (int64_t i = 0; i < d; i++)
            extra_bar[i] += bar[i] * x[i];
    }
    return value;
}

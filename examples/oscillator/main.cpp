// Recovers the stiffness and the damping of an oscillator from its path, by gradient descent.
#include <cstdio>
#include <vector>

#include "misfit.hpp"

int main() {
    std::vector<double> data;
    double x = 1.0, v = 0.0, h = 0.05;
    for (int k = 0; k < 100; k++) {
        v -= h * (2.0 * x + 0.3 * v);
        x += h * v;
        data.push_back(x);
    }
    double stiffness = 1.5, damping = 0.1;
    for (int step = 0; step < 2000; step++) {
        auto [value, by_stiffness, by_damping] = misfit_cpp::misfit_grad(data, stiffness, damping);
        stiffness -= 0.02 * by_stiffness;
        damping -= 0.02 * by_damping;
    }
    std::printf("stiffness %.4f damping %.4f\n", stiffness, damping);
}

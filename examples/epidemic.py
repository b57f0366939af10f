"""Find how fast an epidemic spreads and ends from daily counts, by differentiating a solver of its equations."""

import numpy as np
from scipy.optimize import minimize

import adjoint as ad
from adjoint.scipy import integrate, stats


def spread(t, state, contacts, recovery):
    """Kermack and McKendrick's equations, for shares of the population."""
    susceptible, infected = state
    new = contacts * susceptible * infected
    return np.stack([-new, new - recovery * infected])


def expected(rates, days, people):
    """How many are ill each day."""
    contacts, recovery = np.exp(rates)
    start = np.array([1 - 10 / people, 10 / people])
    solution = integrate.solve_ivp(
        spread, (days[0], days[-1]), start, t_eval=days, args=(contacts, recovery), rtol=1e-8, atol=1e-10
    )
    return people * solution.y[1]


def main(last=40, people=1e5):
    """Fit by maximum likelihood. Returns the true and the fitted rates, their standard errors, and the loss."""
    true, days = np.array([0.6, 0.2]), np.arange(last + 1.0)
    counts = np.random.default_rng(0).poisson(expected(np.log(true), days, people))

    def loss(rates):
        return -np.sum(stats.poisson.logpmf(counts, expected(rates, days, people)))

    fit = minimize(ad.value_and_grad(loss), np.log([0.5, 0.25]), jac=True, method="BFGS")
    # The curvature of the loss says how sure the fit is; these are errors of logarithms.
    errors = np.sqrt(np.diag(np.linalg.inv(ad.hessian(loss)(fit.x)))) * np.exp(fit.x)
    for name, value, error in zip(("contacts", "recovery"), np.exp(fit.x), errors, strict=True):
        print(f"{name} {value:.4f} ± {error:.4f} a day")
    return {"true": true, "fitted": np.exp(fit.x), "errors": errors, "loss": loss}


if __name__ == "__main__":
    main()

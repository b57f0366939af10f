"""Fit predator-prey equations to twenty-one years of hare and lynx pelts, by differentiating their solver."""

import numpy as np

from adjoint.scipy import integrate, optimize

# Pelts traded by the Hudson's Bay Company, in thousands, 1900 to 1920; C. Elton and M. Nicholson, 1942.
HARES = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
LYNXES = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"


def growth(t, state, rates):
    """A. Lotka's and V. Volterra's equations."""
    hares, lynxes = state
    met = hares * lynxes
    return np.stack([rates["birth"] * hares - rates["hunt"] * met, rates["feed"] * met - rates["death"] * lynxes])


def populations(params, years):
    """Hares and lynxes, (2, years); parameters are logarithms, and so stay positive."""
    rates = {name: np.exp(rate) for name, rate in params["rates"].items()}
    solution = integrate.solve_ivp(
        growth, (years[0], years[-1]), np.exp(params["start"]), t_eval=years, args=(rates,), rtol=1e-5, atol=1e-5
    )
    return solution.y


def main():
    """Least squares of logarithms. Returns the rates, their standard errors, the result, and the residuals."""
    pelts = np.array([[float(x) for x in row.split()] for row in (HARES, LYNXES)])
    years = np.arange(pelts.shape[1], dtype=float)

    def residuals(params):
        return np.log(populations(params, years)) - np.log(pelts)

    guess = {"birth": 0.5, "hunt": 0.03, "feed": 0.03, "death": 1.0}
    start = {"rates": {name: np.log(rate) for name, rate in guess.items()}, "start": np.log(pelts[:, 0])}
    fit = optimize.least_squares(residuals, start)
    spread = np.sqrt(2 * fit.cost / (pelts.size - fit.vector.size))
    errors = optimize.problem(residuals, start).unravel(spread * np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac))))
    rates = {name: np.exp(rate) for name, rate in fit.x["rates"].items()}
    for name, rate in rates.items():
        print(f"{name:6s} {rate:.4f} ± {rate * errors['rates'][name]:.4f} a year")
    print(f"{fit.forward} solutions, {fit.backward} Jacobians; residuals of {100 * spread:.0f} %")
    return {"rates": rates, "errors": errors, "fit": fit, "residuals": residuals}


if __name__ == "__main__":
    main()

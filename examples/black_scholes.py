"""The Greeks of a European call option, by differentiating its Black-Scholes price; held against closed forms."""

import numpy as np
from scipy.special import erfc

import adjoint as ad


def call_price(spot, strike, years, rate, volatility):
    """Price of a European call. Black and Scholes, Journal of Political Economy 81 (1973), equation 13."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
    d2 = d1 - spread
    return spot * normal_cdf(d1) - strike * np.exp(-rate * years) * normal_cdf(d2)


def normal_cdf(x):
    return erfc(-x / np.sqrt(2)) / 2


def total(*market):
    """Each option's price depends on its own market only, so the gradient of the sum holds all derivatives."""
    return np.sum(call_price(*market))


def closed_forms(spot, strike, years, rate, volatility):
    """The Greeks as textbooks give them (Hull, "Options, Futures, and Other Derivatives", chapter 19)."""
    root = np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * root)
    d2 = d1 - volatility * root
    density = np.exp(-(d1**2) / 2) / np.sqrt(2 * np.pi)
    discounted = strike * np.exp(-rate * years) * normal_cdf(d2)
    return {
        "delta": normal_cdf(d1),
        "theta": -spot * density * volatility / (2 * root) - rate * discounted,
        "rho": years * discounted,
        "vega": spot * density * root,
        "gamma": density / (spot * volatility * root),
        "vanna": -density * d2 / volatility,
    }


def main(n=5):
    """Greeks of `n` options with different strikes. Returns (by adjoint, closed form) for each of them."""
    strike = np.linspace(80.0, 120.0, n)
    market = (np.full(n, 100.0), strike, np.full(n, 0.5), np.full(n, 0.03), np.full(n, 0.2))

    delta, years, rho, vega = ad.grad(total, argnums=(0, 2, 3, 4))(*market)

    def delta_of(spot, volatility):
        first = ad.grad(total, argnums=0)(spot, strike, market[2], market[3], volatility)
        return np.sum(first)

    gamma, vanna = ad.grad(delta_of, argnums=(0, 1))(market[0], market[4])
    greeks = {"delta": delta, "theta": -years, "rho": rho, "vega": vega, "gamma": gamma, "vanna": vanna}

    expected = closed_forms(*market)
    print("strike ", *(f"{k:10.1f}" for k in strike))
    for name, values in greeks.items():
        error = np.max(np.abs(values - expected[name]))
        print(f"{name:7s}", *(f"{v:10.5f}" for v in values), f"   largest error {error:.0e}")
    return {name: (greeks[name], expected[name]) for name in greeks}


if __name__ == "__main__":
    main()

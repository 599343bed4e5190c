"""The words of the methods page: priors, rules and procedures, in sentences that a paper can use."""

PRIORS = {
    "lognormal": "log-normal with median {0} and an SD of {1} on the log scale",
    "logitnormal": "logit-normal with median {0} and an SD of {1} on the logit scale",
    "normal": "normal with mean {0} and SD {1}",
    "uniform": "uniform from {0} to {1}",
    "loguniform": "log-uniform from {0} to {1}",
}

SEARCHES = {
    "nelder_mead": "the Nelder–Mead method (Nelder & Mead, 1965)",
    "tpe": "the tree-structured Parzen estimator of Optuna (Akiba et al., 2019)",
    "cmaes": "CMA-ES, through Optuna (Akiba et al., 2019)",
    "random": "random search, through Optuna (Akiba et al., 2019)",
}

HOW_MANY = ("no model", "one model", "two models", "three models", "four models", "five models", "six models")

ANSWERS = {"rating": "ratings", "number": "numbers"}  # by the kind of response; choices otherwise
RESPONSES = {
    "choices": "Predictions p became choices by P(choice = 1) = lapse/2 + (1 − lapse) σ(β logit p + bias).",
    "ratings": (
        "Predictions p became ratings by Beta regression (Ferrari & Cribari-Neto, 2004): logit μ = slope logit p + "
        "shift, with precision φ, where the probability of a rating is that of its part of the scale."
    ),
    "numbers": "Predictions p became numbers as baseline + gain p, with normal noise, in units of the scale.",
}
NO_FEEDBACK = (
    "{n} had no feedback: their outcomes entered no model, their cues were seen, and answers to them were explained "
    "like others."
)
MISSED = "{n} dropped out of the likelihood and stayed in the learning sequence."
EXACT = "The likelihoods of {models} are exact, as they have no particles."
OBSERVER = (
    "Latent-cause models were run as particle filters with {particles} particles and {resampling} resampling; branch "
    "counts by {branch_counts}, stickiness by {sticky_by}, at most {max_depth} levels and {max_branches} branches."
)
LATTICE = (
    "For each person and model the log-likelihood was computed on a lattice over all free parameters, which gives the "
    "posterior, its intervals (95%, equal tails) and the evidence. Priors: {priors}."
)
SEARCH = (
    "Maxima of likelihood and posterior were searched from the lattice by {method}, at {evaluations} points beyond it "
    "from {starts}."
)
MARGINAL = (
    "A participant's own particles are unobserved, so the likelihood of a person's choices is an expectation over "
    "filters. It was estimated from {replicates} replicate filters at every node of the lattice, as the mean of two "
    "estimates: the mean over the replicates, averaged with neighbouring nodes by a kernel; and the integral over a "
    "normal density of their traces of log odds, whose mean and covariance were learned from the node and its "
    "neighbours (van Opheusden et al., 2020, discuss the noise of simulated likelihoods). The "
    "Monte Carlo error of each person's log evidence was found by leaving out one eighth of the replicates after the "
    "other (jackknife)."
)
EXPECTED = (
    "The observer was taken to average over {replicates} replicate filters, whose mean prediction entered the "
    "choice rule."
)
CONDITIONS = (
    "Within each person, {varied} had a value of its own in each condition ({by}); all other parameters were shared. "
    "Each condition had a lattice of its own; given what is shared, a person's likelihood is the product over "
    "conditions, and it was integrated over both jointly."
)
PAIRED = (
    "A parameter that differs between conditions was, on its scale of search, the mean of the condition plus a normal "
    "person effect, the same in all conditions, plus a normal rest, so that contrasts between conditions are paired "
    "within people; all shares of the variance that belong to people were equally likely, and person effects "
    "were integrated out by Gauss-Hermite quadrature."
)
BY_CONDITION = (
    "Models were compared in each condition, and in all together, by random-effects model selection from the log "
    "evidences of single people (Stephan et al., 2009; Rigoux et al., 2014), each draw with Monte Carlo errors of its "
    "own."
)
POOLING = (
    "Group distributions were estimated model by model: on the scale of each parameter people are normally distributed "
    "about a group mean, and every person's likelihood was integrated over the lattice, so that only means, spreads "
    "and effects were sampled, with NUTS (Hoffman & Gelman, 2014) in nutpie, a sampler of the PyMC project "
    "(Abril-Pla et al., 2023)."
)
COMPARISON = (
    "Models were compared in one mixture with Dirichlet-distributed frequencies, in which everyone follows one of them "
    "(random-effects model selection, Stephan et al., 2009; hierarchical in its parameters, Piray et al., 2019). "
    "Monte Carlo errors of the evidences were imputed. Protected exceedance probabilities follow Rigoux et al. (2014); "
    "leave-one-subject-out predictive densities use Pareto-smoothed importance sampling (Vehtari et al., 2017)."
)
FAMILIES = "Families of models were compared with equal prior probabilities (Penny et al., 2010)."
VALIDATION = (
    "Observed learning curves were set against cohorts simulated from the posteriors, each with one draw of the group "
    "for all of its people."
)
RECOVERY = "Recovery (Wilson & Collins, 2019) was studied in people from each model, {how_made}."
CALIBRATION = "Intervals were checked by simulation-based calibration (Talts et al., 2018)."

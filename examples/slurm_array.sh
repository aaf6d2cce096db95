#!/bin/sh
# Run a sweep as a Slurm array job with one task for each scene, and merge the results.
#
#     sh slurm_array.sh SCRIPT OUT SCENE...
#
# Task N runs SCRIPT on the scene number N, and writes the folder OUT/part_N. After all
# tasks, another job merges these folders into OUT/all. If tasks failed or were killed,
# the same command computes only the missing results. Change the resources below.
#
#SBATCH --job-name=sweep
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=04:00:00
set -eu

if [ $# -lt 3 ]; then
    echo "usage: sh slurm_array.sh SCRIPT OUT SCENE..." >&2
    exit 2
fi

# Slurm starts this file again with one of these words in front of the arguments.
case $1 in
--run | --merge) mode=$1 && shift ;;
*) mode=--submit ;;
esac
script=$1
out=$2
shift 2

case $mode in
--submit)
    mkdir -p "$out"
    array_job=$(sbatch --parsable --array="1-$#" --output="$out/part_%a.log" \
        "$0" --run "$script" "$out" "$@")
    # With "afterany", the merge also starts if a task fails. It then reports missing
    # results. If a task ended before it created its folder, the merge stops with an error
    # and merges nothing. In both cases, submit the same command again.
    sbatch --dependency="afterany:${array_job%%;*}" --output="$out/merge.log" \
        "$0" --merge "$script" "$out" "$@"
    ;;
--run)
    shift $((SLURM_ARRAY_TASK_ID - 1))
    stereo-framework run "$script" --scene "$1" --out "$out/part_$SLURM_ARRAY_TASK_ID" \
        --threads "${SLURM_CPUS_PER_TASK:-1}"
    ;;
--merge)
    # The order of the folders is the order of the scenes in the merged folder.
    count=$#
    set --
    number=1
    while [ "$number" -le "$count" ]; do
        set -- "$@" "$out/part_$number"
        number=$((number + 1))
    done
    stereo-framework merge "$@" --out "$out/all"
    ;;
esac

"""Reading and writing images, disparity maps, calibrations and other files."""

from stereo_framework.io._files import (
    PathLike,
    changed_since_written,
    check_file,
    check_own,
    check_plain,
    encoding_fault,
    file_stem,
    inside,
    is_own,
    name_fault,
    output_folder,
    own_suffixes,
    read_bytes,
    reader,
    remove_parts,
    write_bytes,
)
from stereo_framework.io.calibration import (
    StereoCalibration,
    kitti_cameras,
    read_any_calibration,
    read_calibration,
    read_kitti_calibration,
    read_stereo_calibration,
    write_opencv_calibration,
)
from stereo_framework.io.disparity import read_disparity, write_disparity
from stereo_framework.io.file_lock import has_locks, locked
from stereo_framework.io.images import read_grey, read_image, read_mask, write_image
from stereo_framework.io.raw import read_pfm, write_pfm, write_points
from stereo_framework.io.tiff import geo_tags

__all__ = [
    "PathLike",
    "StereoCalibration",
    "changed_since_written",
    "check_file",
    "check_own",
    "check_plain",
    "encoding_fault",
    "file_stem",
    "geo_tags",
    "inside",
    "is_own",
    "kitti_cameras",
    "locked",
    "name_fault",
    "output_folder",
    "own_suffixes",
    "read_any_calibration",
    "read_bytes",
    "read_calibration",
    "read_disparity",
    "read_grey",
    "read_image",
    "read_kitti_calibration",
    "read_mask",
    "read_pfm",
    "read_stereo_calibration",
    "reader",
    "remove_parts",
    "write_bytes",
    "write_disparity",
    "write_image",
    "write_opencv_calibration",
    "write_pfm",
    "write_points",
]

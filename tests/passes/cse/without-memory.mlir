// adc opt --passes=cse{memory=false}
// The loads stay, since memory is not looked at.

func.func @f(%x: memref<?xf64>, %i: index) -> f64 {
  %a = memref.load %x[%i] : memref<?xf64>
  %b = memref.load %x[%i] : memref<?xf64>
  %y = math.sin %a : f64
  %z = math.sin %a : f64
  %s = arith.addf %y, %z : f64
  %t = arith.addf %s, %b : f64
  func.return %t : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %i: index) -> f64 {
  %a = memref.load %x[%i] : memref<?xf64>
  %b = memref.load %x[%i] : memref<?xf64>
  %y = math.sin %a : f64
  %s = arith.addf %y, %y : f64
  %t = arith.addf %s, %b : f64
  func.return %t : f64
}
